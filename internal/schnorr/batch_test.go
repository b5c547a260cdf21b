package schnorr

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
)

// many makes n signatures by several keys in turn.
func many(tb testing.TB, n, keys int) []Signed {
	tb.Helper()
	r := rand.NewChaCha8([32]byte{6})
	secrets := make([]*btcec.PrivateKey, keys)
	for i := range secrets {
		var b [32]byte
		r.Read(b[:])
		secrets[i], _ = btcec.PrivKeyFromBytes(b[:])
	}
	all := make([]Signed, n)
	for i := range all {
		s, secret := &all[i], secrets[i%keys]
		r.Read(s.Msg[:])
		sig, err := schnorr.Sign(secret, s.Msg[:], schnorr.FastSign())
		if err != nil {
			tb.Fatal(err)
		}
		copy(s.Key[:], schnorr.SerializePubKey(secret.PubKey()))
		copy(s.Sig[:], sig.Serialize())
	}
	return all
}

func TestAll(t *testing.T) {
	for _, size := range []struct{ n, keys int }{{0, 1}, {1, 1}, {2, 1}, {2, 2}, {300, 300}, {300, 7}} {
		all := many(t, size.n, size.keys)
		if !All(all) {
			t.Fatalf("%d signatures of %d keys do not hold", size.n, size.keys)
		}
	}
}

// One bit of one part of one signature among many: the others do not hide it.
func TestAllFindsOneThatIsWrong(t *testing.T) {
	all := many(t, 24, 5)
	for i := range all {
		s := &all[i]
		for part, bytes := range map[string][]byte{"key": s.Key[:], "msg": s.Msg[:], "R": s.Sig[:32], "s": s.Sig[32:]} {
			at, bit := (7*i)%32, byte(1)<<(i%8)
			bytes[at] ^= bit
			if All(all) {
				t.Errorf("signature %d holds with %s changed", i, part)
			}
			bytes[at] ^= bit
		}
	}
	if !All(all) {
		t.Fatal("the signatures do not hold")
	}
}

// Whoever makes several signatures can make their faults cancel each other out:
// only factors that he does not know keep them apart.
func TestAllFindsFaultsThatCancelOut(t *testing.T) {
	all := many(t, 2, 1)
	var a, b, one btcec.ModNScalar
	a.SetByteSlice(all[0].Sig[32:])
	b.SetByteSlice(all[1].Sig[32:])
	one.SetInt(1)
	a.Add(&one)
	b.Add(one.Negate())
	a.PutBytesUnchecked(all[0].Sig[32:])
	b.PutBytesUnchecked(all[1].Sig[32:])
	for range 50 {
		if All(all) {
			t.Fatal("s + 1 and s - 1 hold together")
		}
	}
	twice := []Signed{all[0], all[0]} // the same fault again adds up to another
	if All(twice) {
		t.Fatal("a fault holds beside itself")
	}
}

// BenchmarkAll checks signatures of 100 keys, and of as many as there are.
func BenchmarkAll(b *testing.B) {
	for _, size := range []struct{ n, keys int }{{64, 64}, {128, 100}, {256, 100}, {256, 256}, {1024, 100}, {1024, 1024}, {2048, 1}, {2048, 100}} {
		all := many(b, size.n, size.keys)
		b.Run(fmt.Sprintf("signatures=%d/keys=%d", size.n, size.keys), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !All(all) {
					b.Fatal("they do not hold")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(size.n*b.N), "ns/signature")
		})
	}
}
