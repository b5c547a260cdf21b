package nipae

import (
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// Kind is the event kind of engrams: addressable, so a relay keeps the newest
// per author and d tag.
const Kind = 30174

// ErrEnvelope is what every error of CheckEnvelope is.
var ErrEnvelope = errors.New("not an engram")

// CheckEnvelope judges what a relay must judge before an engram may replace
// another (NIP-AE, "Envelope"): kind 30174; exactly one tag named d and exactly
// one named p, each with 64 lower-case hex digits as its value, where tags
// without a value count too; and content that CheckPayload accepts. All other
// tags are without effect, and so are further elements of these two.
//
// An event that fails would, as head, hide the memory that its readers can
// still read: they must discard it. The error is ErrEnvelope, and ErrPayload
// as well if the content is at fault.
func CheckEnvelope(ev *nostr.Event) error {
	if err := checkAddress(ev); err != nil {
		return err
	}
	if err := CheckPayload(ev.Content); err != nil {
		return fmt.Errorf("%w: %w", ErrEnvelope, err)
	}
	return nil
}

// checkAddress is CheckEnvelope but for the content: what says where the event
// belongs.
func checkAddress(ev *nostr.Event) error {
	if ev.Kind != Kind {
		return fmt.Errorf("%w: kind %d instead of %d", ErrEnvelope, ev.Kind, Kind)
	}
	if err := checkOneHex(ev.Tags, "d"); err != nil {
		return err
	}
	return checkOneHex(ev.Tags, "p")
}

// checkOneHex checks that exactly one tag has the name, and a key as value.
func checkOneHex(tags nostr.Tags, name string) error {
	var found nostr.Tag
	n := 0
	for _, tag := range tags {
		if len(tag) > 0 && tag[0] == name {
			found = tag
			n++
		}
	}
	if n != 1 {
		return fmt.Errorf("%w: it must have exactly one %s tag, not %d", ErrEnvelope, name, n)
	}
	if len(found) < 2 || !isHex32(found[1]) {
		return fmt.Errorf("%w: its %s tag must hold 64 lower-case hex digits", ErrEnvelope, name)
	}
	return nil
}

// isHex32 reports whether s is 32 bytes in lower-case hex.
func isHex32(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
