package relaytest

import (
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// Key is a test identity. Its secret is a small number that everybody knows:
// never use one for anything real.
type Key struct {
	Secret string // 64 hex digits
	Pub    string // 64 lower-case hex digits, x only
}

// NewKey returns the identity whose secret is n. 1 and 2 are the agent and the
// owner of the published NIP-AE vectors. n must not be 0.
func NewKey(n uint64) Key {
	secret := fmt.Sprintf("%064x", n)
	pub, err := nostr.GetPublicKey(secret)
	if err != nil {
		panic(fmt.Sprintf("relaytest: no key for secret %d: %v", n, err))
	}
	return Key{Secret: secret, Pub: pub}
}

// Agent is the author of the NIP-AE vectors.
func Agent() Key { return NewKey(1) }

// Owner is the owner that the NIP-AE vectors name in their p tag.
func Owner() Key { return NewKey(2) }

// Stranger is nobody's party.
func Stranger() Key { return NewKey(99) }
