package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/schnorr"
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

func verify(keys *schnorr.Keys, ev *nostr.Event) error {
	var s schnorr.Signed
	if err := signed(&s, ev); err != nil {
		return err
	}
	if !keys.Verify(&s.Key, &s.Msg, &s.Sig) {
		return ErrSignature
	}
	return nil
}

// VerifyAll is Verify for each of the events. With atOnce (schnorr/many.Hold;
// nil is none) hundreds of few authors take half the time, and more than alone
// if one does not hold: worth it where all should.
func (v *Verifier) VerifyAll(events []*nostr.Event, atOnce func([]schnorr.Signed) bool) []error {
	errs := make([]error, len(events))
	all, of := make([]schnorr.Signed, len(events)), make([]int, 0, len(events))
	for i, ev := range events {
		if errs[i] = signed(&all[len(of)], ev); errs[i] == nil {
			of = append(of, i)
		}
	}
	for k, holds := range v.keys.VerifyAll(all[:len(of)], atOnce) {
		if !holds {
			errs[of[k]] = ErrSignature
		}
	}
	return errs
}

// signed sets s to what the event says is signed, if its id is that of its
// content. It checks lengths and digits before anything else, also for events
// that did not come through ParseEvent.
func signed(s *schnorr.Signed, ev *nostr.Event) error {
	switch {
	case ev == nil:
		return fmt.Errorf("%w: there is no event", ErrID)
	case !decodeHex(s.Msg[:], ev.ID):
		return fmt.Errorf("%w: the id is not 64 lower-case hex digits", ErrID)
	case !decodeHex(s.Key[:], ev.PubKey):
		return fmt.Errorf("%w: the pubkey is not 64 lower-case hex digits", ErrSignature)
	case !decodeHex(s.Sig[:], ev.Sig):
		return fmt.Errorf("%w: it is not 128 lower-case hex digits", ErrSignature)
	}
	var space [2 << 10]byte // enough for a note, and on the stack
	if sha256.Sum256(appendSerialized(space[:0], ev)) != s.Msg {
		return ErrID
	}
	return nil
}
