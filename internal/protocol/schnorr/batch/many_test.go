package batch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	btcschnorr "github.com/btcsuite/btcd/btcec/v2/schnorr"

	"engramd/internal/protocol/schnorr"
)

// secrets are n secret keys.
func secrets(n int) []*btcec.PrivateKey {
	r := rand.NewChaCha8([32]byte{6})
	keys := make([]*btcec.PrivateKey, n)
	for i := range keys {
		var b [32]byte
		r.Read(b[:])
		keys[i], _ = btcec.PrivKeyFromBytes(b[:])
	}
	return keys
}

// many makes n signatures by several keys in turn.
func many(tb testing.TB, n, keys int) []schnorr.Signed {
	tb.Helper()
	r, by := rand.NewChaCha8([32]byte{7}), secrets(keys)
	out := make([]schnorr.Signed, n)
	for i := range out {
		s, secret := &out[i], by[i%keys]
		r.Read(s.Msg[:])
		sig, err := btcschnorr.Sign(secret, s.Msg[:], btcschnorr.FastSign())
		if err != nil {
			tb.Fatal(err)
		}
		copy(s.Key[:], btcschnorr.SerializePubKey(secret.PubKey()))
		copy(s.Sig[:], sig.Serialize())
	}
	return out
}

func TestAll(t *testing.T) {
	for _, size := range []struct {
		n, keys int
		want    bool
	}{{0, 1, true}, {1, 1, true}, {2, 1, true}, {2, 2, false}, {300, 7, true}, {300, 150, true}, {300, 151, false}, {3000, 20, true}} {
		if got := all(many(t, size.n, size.keys)); got != size.want {
			t.Errorf("%d signatures of %d keys: %v", size.n, size.keys, got)
		}
	}
}

// One bit of one part of one signature among many: the others do not hide it.
func TestAllFindsOneThatIsWrong(t *testing.T) {
	signed := many(t, 24, 5)
	for i := range signed {
		s := &signed[i]
		for part, bytes := range map[string][]byte{"key": s.Key[:], "msg": s.Msg[:], "R": s.Sig[:32], "s": s.Sig[32:]} {
			at, bit := (7*i)%32, byte(1)<<(i%8)
			bytes[at] ^= bit
			if all(signed) {
				t.Errorf("signature %d holds with %s changed", i, part)
			}
			bytes[at] ^= bit
		}
	}
	if !all(signed) {
		t.Fatal("the signatures do not hold")
	}
}

// Whoever makes several signatures can make their faults cancel each other out:
// only factors that he does not know keep them apart.
func TestAllFindsFaultsThatCancelOut(t *testing.T) {
	signed := many(t, 2, 1)
	var a, b, one btcec.ModNScalar
	a.SetByteSlice(signed[0].Sig[32:])
	b.SetByteSlice(signed[1].Sig[32:])
	one.SetInt(1)
	a.Add(&one)
	b.Add(one.Negate())
	a.PutBytesUnchecked(signed[0].Sig[32:])
	b.PutBytesUnchecked(signed[1].Sig[32:])
	for range 50 {
		if all(signed) {
			t.Fatal("s + 1 and s - 1 hold together")
		}
	}
	if all([]schnorr.Signed{signed[0], signed[0]}) { // the same fault again adds up to another
		t.Fatal("a fault holds beside itself")
	}
}

// The same point over and over, as R, as key and as generator, is what sums of
// points go wrong with: who signs may choose it. Few and many are added up by
// different ways of the library.
func TestAllWithPointsThatMeet(t *testing.T) {
	one := new(btcec.ModNScalar)
	one.SetInt(1)
	generator := secrets(1)[0]
	generator.Key.Set(one) // its key is the generator
	for _, n := range []int{2, 30, 300, 3000} {
		var signed []schnorr.Signed
		for i := range n {
			s := schnorr.Signed{Msg: [32]byte{byte(i), byte(i >> 8)}}
			copy(s.Key[:], btcschnorr.SerializePubKey(generator.PubKey()))
			s.Sig = signedWith(one, one, &s) // R is the generator as well
			signed = append(signed, s)
		}
		if !(*schnorr.Keys)(nil).Verify(&signed[n-1].Key, &signed[n-1].Msg, &signed[n-1].Sig) || !all(signed) {
			t.Errorf("%d signatures with the same R do not hold", n)
		}
		for _, i := range []int{0, n / 2, n - 1} {
			wrong := slices.Clone(signed)
			wrong[i].Sig[63] ^= 1
			if all(wrong) {
				t.Errorf("%d signatures hold with one that is wrong", n)
			}
		}
		wrong := slices.Clone(signed)
		for i := range wrong {
			wrong[i].Sig[63] ^= 1
		}
		if all(wrong) {
			t.Errorf("%d wrong signatures hold", n)
		}
	}
}

// signedWith is the signature of a secret with a nonce of one's choice; both
// are of points with an even y.
func signedWith(secret, nonce *btcec.ModNScalar, s *schnorr.Signed) (sig [64]byte) {
	var r btcec.JacobianPoint
	btcec.ScalarBaseMultNonConst(nonce, &r)
	r.ToAffine()
	r.X.PutBytesUnchecked(sig[:32])
	of := *s
	of.Sig = sig
	e := challenge(&of)
	bytes := e.Bytes()
	var response btcec.ModNScalar
	response.SetBytes(&bytes)
	response.Mul(secret).Add(nonce)
	response.PutBytesUnchecked(sig[32:])
	return sig
}

// VerifyAll agrees with Verify, whatever is wrong.
func TestVerifyAll(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{0, 1, fewest - 1, fewest, 2 * fewest} {
		for _, wrong := range []int{0, 1, 20} {
			signed := many(t, n, 9)
			want := slices.Repeat([]bool{true}, n)
			for range min(wrong, n) {
				i := r.IntN(n)
				bytes := [][]byte{signed[i].Key[:], signed[i].Msg[:], signed[i].Sig[:]}[r.IntN(3)]
				for j := range bytes {
					bytes[j] = [...]byte{0, 0xff, byte(r.Uint32())}[r.IntN(3)]
				}
				want[i] = false
			}
			if got := new(schnorr.Keys).VerifyAll(signed, Hold); !slices.Equal(got, want) {
				t.Errorf("%d signatures, %d changed: %v", n, wrong, got)
			}
		}
	}
}

// BenchmarkVerifyAll checks signatures of one key, of 100, and of half as many
// as there are.
func BenchmarkVerifyAll(b *testing.B) {
	for _, size := range []struct{ n, keys int }{{256, 100}, {256, 128}, {1024, 100}, {2048, 1}, {2048, 100}, {2048, 1024}} {
		signed := many(b, size.n, size.keys)
		b.Run(fmt.Sprintf("signatures=%d/keys=%d", size.n, size.keys), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !all(signed) {
					b.Fatal("they do not hold")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(size.n*b.N), "ns/signature")
		})
	}
}
