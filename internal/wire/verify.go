package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/schnorr"
)

// ID returns the id that the event should have: the SHA-256 of its
// serialization, as 64 lower-case hex digits (NIP-01).
func ID(ev *nostr.Event) string {
	sum := sha256.Sum256(appendSerialized(nil, ev))
	return hex.EncodeToString(sum[:])
}

// Verifier checks events and remembers their authors' keys, which makes the
// next event of the same author cheaper. Its zero value is ready; one serves
// any number of goroutines.
type Verifier struct{ keys schnorr.Keys }

// Verify checks that the event's id is that of its content and that its
// signature holds (NIP-01): nil, or an error that is ErrID or ErrSignature.
func (v *Verifier) Verify(ev *nostr.Event) error { return verify(&v.keys, ev) }

// Verify is Verifier.Verify for single events: it remembers nothing.
func Verify(ev *nostr.Event) error { return verify(nil, ev) }

// verify checks lengths and digits before anything else, also for events that
// did not come through ParseEvent.
func verify(keys *schnorr.Keys, ev *nostr.Event) error {
	var id, key [32]byte
	var sig [64]byte
	switch {
	case ev == nil:
		return fmt.Errorf("%w: there is no event", ErrID)
	case !decodeHex(id[:], ev.ID):
		return fmt.Errorf("%w: the id is not 64 lower-case hex digits", ErrID)
	case !decodeHex(key[:], ev.PubKey):
		return fmt.Errorf("%w: the pubkey is not 64 lower-case hex digits", ErrSignature)
	case !decodeHex(sig[:], ev.Sig):
		return fmt.Errorf("%w: it is not 128 lower-case hex digits", ErrSignature)
	}
	var space [2 << 10]byte // enough for a note, and on the stack
	if sha256.Sum256(appendSerialized(space[:0], ev)) != id {
		return ErrID
	}
	if !keys.Verify(&key, &id, &sig) {
		return ErrSignature
	}
	return nil
}
