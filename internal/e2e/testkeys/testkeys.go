// Package testkeys holds the keys of tests. Their secrets are known to everybody.
package testkeys

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/nbd-wtf/go-nostr"
)

// Key is a key pair in hex.
type Key struct {
	Secret string
	Pub    string
}

// New derives a key pair from a name, the same one every time.
func New(name string) Key {
	sum := sha256.Sum256([]byte("engramd test key " + name))
	secret := hex.EncodeToString(sum[:])
	pub, err := nostr.GetPublicKey(secret)
	if err != nil {
		panic(err)
	}
	return Key{Secret: secret, Pub: pub}
}
