package schnorr

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

// signed is a message with its signature.
type signed struct {
	key, msg [32]byte
	sig      [64]byte
}

func signedBy(tb testing.TB, r *rand.ChaCha8) (s signed) {
	tb.Helper()
	var secret [32]byte
	r.Read(secret[:])
	r.Read(s.msg[:])
	private, public := btcec.PrivKeyFromBytes(secret[:])
	sig, err := schnorr.Sign(private, s.msg[:])
	if err != nil {
		tb.Fatal(err)
	}
	copy(s.key[:], schnorr.SerializePubKey(public))
	copy(s.sig[:], sig.Serialize())
	return s
}

// Every signature is checked with its key unknown, and again with it known; so
// is every one with a bit flipped in any of its parts.
func TestVerifyAgreesWithAnotherImplementation(t *testing.T) {
	r := rand.NewChaCha8([32]byte{1})
	var keys Keys
	for i := range 200 {
		s := signedBy(t, r)
		for range 2 {
			if !keys.Verify(&s.key, &s.msg, &s.sig) || !(*Keys)(nil).Verify(&s.key, &s.msg, &s.sig) {
				t.Fatalf("signature %d does not hold", i)
			}
		}
		for part, bytes := range map[string][]byte{"key": s.key[:], "msg": s.msg[:], "R": s.sig[:32], "s": s.sig[32:]} {
			bit := byte(1) << (i % 8)
			bytes[i%32] ^= bit
			if keys.Verify(&s.key, &s.msg, &s.sig) || (*Keys)(nil).Verify(&s.key, &s.msg, &s.sig) {
				t.Errorf("signature %d holds with %s changed", i, part)
			}
			bytes[i%32] ^= bit
		}
	}
}

// From BIP-340's test-vectors.csv: the first good one, and what must not hold.
func TestVectors(t *testing.T) {
	const (
		other = "DFF1D77F2A671C5F36183726DB2341BE58FEAE1DA2DECED843240F7B502BA659"
		msg   = "243F6A8885A308D313198A2E03707344A4093822299F31D0082EFA98EC4E6C89"
		field = "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC2F"
		order = "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141"
	)
	tests := []struct {
		name, key, msg, sig string
		want                bool
	}{
		{"0", "F9308A019258C31049344F85F89D5229B531C845836F99B08601F113BCE036F9",
			"0000000000000000000000000000000000000000000000000000000000000000",
			"E907831F80848D1069A5371B402410364BDF1C5F8307B0084C55F1CE2DCA821525F66A4A85EA8B71E482A74F382D2CE5EBEEE8FDB2172F477DF4900D310536C0", true},
		{"1", other, msg, "6896BD60EEAE296DB48A229FF71DFE071BDE413E6D43F917DC8DCF8C78DE33418906D11AC976ABCCB20B091292BFF4EA897EFCB639EA871CFA95F6DE339E4B0A", true},
		{"5, key not on the curve", "EEFDEA4CDB677750A420FEE807EACF21EB9898AE79B9768766E4FAA04A2D4A34", msg,
			"6CFF5C3BA86C69EA4B7376F31A9BCB4F74C1976089B2D9963DA2E5543E17776969E89B4C5564D00349106B8497785DD7D1D713A8AE82B32FA79D5F7FC407D39B", false},
		{"6, R has an odd y", other, msg, "FFF97BD5755EEEA420453A14355235D382F6472F8568A18B2F057A14602975563CC27944640AC607CD107AE10923D9EF7A73C643E166BE5EBEAFA34B1AC553E2", false},
		{"12, R is the field's size", other, msg, field + "69E89B4C5564D00349106B8497785DD7D1D713A8AE82B32FA79D5F7FC407D39B", false},
		{"13, s is the curve's order", other, msg, "6CFF5C3BA86C69EA4B7376F31A9BCB4F74C1976089B2D9963DA2E5543E177769" + order, false},
		{"14, key beyond the field", "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEFFFFFC30", msg,
			"6CFF5C3BA86C69EA4B7376F31A9BCB4F74C1976089B2D9963DA2E5543E17776969E89B4C5564D00349106B8497785DD7D1D713A8AE82B32FA79D5F7FC407D39B", false},
	}
	var keys Keys
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s signed
			for dst, src := range map[*[]byte]string{new(s.key[:]): tt.key, new(s.msg[:]): tt.msg, new(s.sig[:]): tt.sig} {
				if _, err := hex.Decode(*dst, []byte(src)); err != nil {
					t.Fatal(err)
				}
			}
			if got := keys.Verify(&s.key, &s.msg, &s.sig); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// Keys that share a place drive each other out and stay what they are.
func TestKeysThatCollide(t *testing.T) {
	r := rand.NewChaCha8([32]byte{2})
	var keys Keys
	one, two := signedBy(t, r), signedBy(t, r)
	for range 3 {
		for _, s := range []signed{one, two} {
			if !keys.Verify(&s.key, &s.msg, &s.sig) {
				t.Fatal("a good signature does not hold")
			}
			for i := range keys.places { // whatever the place, it is taken by this one
				keys.places[i].Store(keys.places[place(&s.key)].Load())
			}
		}
		if keys.Verify(&one.key, &two.msg, &two.sig) || keys.Verify(&two.key, &one.msg, &one.sig) {
			t.Fatal("a signature of another key holds")
		}
	}
}

// A key is remembered by a good signature only, and then costs no memory again.
func TestOnlyGoodSignaturesAreRemembered(t *testing.T) {
	s := signedBy(t, rand.NewChaCha8([32]byte{3}))
	var keys Keys
	s.sig[0] ^= 1
	keys.Verify(&s.key, &s.msg, &s.sig)
	if keys.places[place(&s.key)].Load() != nil {
		t.Error("the key of a bad signature is remembered")
	}
	s.sig[0] ^= 1
	keys.Verify(&s.key, &s.msg, &s.sig)
	if keys.places[place(&s.key)].Load() == nil {
		t.Error("the key of a good signature is not remembered")
	}
}

func BenchmarkVerify(b *testing.B) {
	s := signedBy(b, rand.NewChaCha8([32]byte{4}))
	b.Run("known", func(b *testing.B) {
		var keys Keys
		b.ReportAllocs()
		for b.Loop() {
			keys.Verify(&s.key, &s.msg, &s.sig)
		}
	})
	b.Run("unknown", func(b *testing.B) {
		var keys Keys
		b.ReportAllocs()
		for b.Loop() {
			keys.places[place(&s.key)].Store(nil)
			keys.Verify(&s.key, &s.msg, &s.sig)
		}
	})
}

// TestSignAgreesWithAnotherImplementation: the same secret, message and randomness give
// the same signature, byte for byte, and one that is out of range gives none.
func TestSignAgreesWithAnotherImplementation(t *testing.T) {
	r := rand.NewChaCha8([32]byte{6})
	for range 200 {
		var secret, msg, aux [32]byte
		r.Read(secret[:])
		r.Read(msg[:])
		r.Read(aux[:])
		private, public := btcec.PrivKeyFromBytes(secret[:])
		want, err := schnorr.Sign(private, msg[:], schnorr.CustomNonce(aux))
		if err != nil {
			t.Fatal(err)
		}
		key, sig, ok := Sign(&secret, &msg, &aux)
		if !ok || string(sig[:]) != string(want.Serialize()) || string(key[:]) != string(schnorr.SerializePubKey(public)) {
			t.Fatalf("%x of %x, %v", sig, key, ok)
		}
	}
	order, err := hex.DecodeString("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141")
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range [][32]byte{{}, [32]byte(order), {0: 0xff, 1: 0xff, 2: 0xff, 3: 0xff, 4: 0xff, 5: 0xff, 6: 0xff, 7: 0xff, 8: 0xff, 9: 0xff, 10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}} {
		var msg, aux [32]byte
		if _, _, ok := Sign(&secret, &msg, &aux); ok {
			t.Errorf("%x signs", secret)
		}
	}
}
