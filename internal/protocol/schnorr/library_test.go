//go:build libsecp256k1 && linux

package schnorr

import (
	"math/rand/v2"
	"testing"
)

// Without the library every call would end the process.
func TestLibraryIsLinked(t *testing.T) {
	if !linked() {
		t.Fatal("libsecp256k1 is not in the program: has go-nostr moved it?")
	}
}

// A check of a known key allocates nothing.
func TestAllocations(t *testing.T) {
	s := signedBy(t, rand.NewChaCha8([32]byte{5}))
	var keys Keys
	if n := testing.AllocsPerRun(100, func() { keys.Verify(&s.key, &s.msg, &s.sig) }); n != 0 {
		t.Errorf("checking a signature allocates %v times", n)
	}
}
