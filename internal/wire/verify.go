package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// ID returns the id that the event should have: the SHA-256 of its
// serialization, as 64 lower-case hex digits (NIP-01).
func ID(ev *nostr.Event) string {
	sum := sha256.Sum256(appendSerialized(nil, ev))
	return hex.EncodeToString(sum[:])
}

// Verify checks that the event's id is that of its content and that its
// signature holds (NIP-01): nil, or an error that is ErrID or ErrSignature.
//
// Lengths and digits are checked before anything else, also for events that
// did not come through ParseEvent: go-nostr, built with libsecp256k1, decodes
// pubkey and signature into arrays of fixed size and panics on longer ones.
func Verify(ev *nostr.Event) error {
	switch {
	case ev == nil:
		return fmt.Errorf("%w: there is no event", ErrID)
	case !lowerHex(ev.ID, 64):
		return fmt.Errorf("%w: the id is not 64 lower-case hex digits", ErrID)
	case !lowerHex(ev.PubKey, 64):
		return fmt.Errorf("%w: the pubkey is not 64 lower-case hex digits", ErrSignature)
	case !lowerHex(ev.Sig, 128):
		return fmt.Errorf("%w: it is not 128 lower-case hex digits", ErrSignature)
	}
	sum := sha256.Sum256(appendSerialized(nil, ev))
	var want [64]byte
	hex.Encode(want[:], sum[:])
	if string(want[:]) != ev.ID {
		return ErrID
	}
	if ok, err := ev.CheckSignature(); err != nil {
		// The library's text repeats the key; which half is at fault depends on
		// the build.
		return fmt.Errorf("%w: the pubkey or the signature is not one", ErrSignature)
	} else if !ok {
		return ErrSignature
	}
	return nil
}
