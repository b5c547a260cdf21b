package nipae

import (
	"errors"
	"fmt"
	"math/bits"
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
