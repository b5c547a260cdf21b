package nipae

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/nbd-wtf/go-nostr"
)

// ErrPayload is what every error of CheckPayload is.
var ErrPayload = errors.New("content is not a NIP-44 v2 payload")

// Sizes of a NIP-44 v2 payload in bytes.
const (
	// payloadFrame is version 1, nonce 32, plaintext length 2 and MAC 32.
	payloadFrame = 67
	// minPadded and maxPadded bound the padded plaintext of 1 to 65,535 bytes.
	minPadded = 32
	maxPadded = 65536
	// payloadVersion is the first byte.
	payloadVersion = 2
)

// CheckPayload judges whether content has the shape of a NIP-44 v2 payload as
// NIP-AE and NIP-TEMP allow it, without any key: canonical padded base64 (no
// line breaks, no stray bits under the padding: decoding and encoding again
// gives the same text), first byte 0x02, and 67 bytes plus one of the sizes
// that NIP-44 pads 1 to 65,535 bytes to, so 99 to 65,603 in all. The longer
// length form of NIP-44 is refused. The error is ErrPayload.
//
// It allocates nothing for content that passes.
func CheckPayload(content string) error {
	if content == "" {
		return fmt.Errorf("%w: it is empty", ErrPayload)
	}
	if content[0] == '#' {
		return fmt.Errorf("%w: it is marked as a version to come", ErrPayload)
	}
	size, ok := canonicalBase64(content)
	if !ok {
		return fmt.Errorf("%w: it is not canonical padded base64", ErrPayload)
	}
	// canonicalBase64 has seen at least four characters, two of them digits.
	if version := base64Digit[content[0]]<<2 | base64Digit[content[1]]>>4; version != payloadVersion {
		return fmt.Errorf("%w: its version is %d", ErrPayload, version)
	}
	if padded := size - payloadFrame; !isPadded(padded) {
		return fmt.Errorf("%w: no plaintext is padded to its %d bytes", ErrPayload, size)
	}
	return nil
}

// isPadded reports whether NIP-44 pads some plaintext of 1 to 65,535 bytes to
// n bytes. Padding is idempotent: the padded sizes are those it leaves alone.
func isPadded(n int) bool {
	return n >= minPadded && n <= maxPadded && PaddedSize(n) == n
}

// PaddedSize is NIP-44's calc_padded_len for n ≥ 1: the next multiple of an
// eighth of the next power of two, and at least 32.
func PaddedSize(n int) int {
	if n <= minPadded {
		return minPadded
	}
	nextPower := 1 << bits.Len(uint(n-1))
	chunk := max(32, nextPower/8)
	return chunk * ((n-1)/chunk + 1)
}

const notBase64 = 0xFF

// base64Digit is the value of each digit of the standard alphabet (RFC 4648,
// section 4), notBase64 for every other byte.
var base64Digit = func() (t [256]byte) {
	for i := range t {
		t[i] = notBase64
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/") {
		t[c] = byte(i)
	}
	return t
}()

// canonicalBase64 returns how many bytes s encodes, if s is what encoding them
// gives. (encoding/base64 skips line breaks, even in its strict mode.)
func canonicalBase64(s string) (size int, ok bool) {
	if len(s) == 0 || len(s)%4 != 0 {
		return 0, false
	}
	digits := len(s)
	for digits > len(s)-2 && s[digits-1] == '=' {
		digits--
	}
	var bad byte
	for i := 0; i < digits; i++ {
		// Digits are below 64, notBase64 is not: one test after the loop.
		bad |= base64Digit[s[i]]
	}
	if bad >= 64 {
		return 0, false
	}
	last := base64Digit[s[digits-1]]
	switch len(s) - digits {
	case 1:
		ok = last&0b11 == 0
	case 2:
		ok = last&0b1111 == 0
	default:
		ok = true
	}
	return len(s)/4*3 - (len(s) - digits), ok
}

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
	if len(found) < 2 || !nostr.IsValid32ByteHex(found[1]) {
		return fmt.Errorf("%w: its %s tag must hold 64 lower-case hex digits", ErrEnvelope, name)
	}
	return nil
}
