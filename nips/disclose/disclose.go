// Package disclose opens one NIP-44 v2 payload to somebody who is no party of
// the conversation, without the conversation key: by the payload's own message
// keys. Whoever holds a conversation key can make those of any payload in it;
// they open this one and no other. It has no I/O, no clock and no state.
//
// What opens is a text of the payload, and need not be the only one: ChaCha20
// and HMAC do not bind their keys, and in minutes its author finds a payload
// that other keys open as another sentence. A commitment makes it the only one:
// the event's signed tag with the hash of the message keys (nipae.CommitTag),
// which OpenEvent looks at. Without it a disclosure is opened, not committed.
package disclose

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/crypto/chacha20"

	"engramd/nips/nipae"
)

// Size is how many bytes message keys have.
const Size = nipae.MessageKeysSize

// Keys are the message keys of one payload. They print as "[redacted]", because
// whoever has them and the payload can read it.
type Keys [Size]byte

// What there is to refuse.
var (
	// ErrPayload means that a content is no NIP-44 v2 payload.
	ErrPayload = nipae.ErrPayload
	// ErrKeys means that a text is not 152 lower-case hex digits.
	ErrKeys = errors.New("message keys are 152 lower-case hex digits")
	// ErrMAC means that these are not the keys of this payload.
	ErrMAC = errors.New("the message keys are not those of this payload: its MAC is wrong")
	// ErrPadding means that what was encrypted is not padded as NIP-44 pads it.
	ErrPadding = errors.New("what was encrypted is not padded as NIP-44 pads it")
	// ErrCommitment means that the author committed to other message keys.
	ErrCommitment = errors.New("the author of the event committed to other message keys")
	// ErrText means that what was encrypted is no text.
	ErrText = errors.New("what was encrypted is not valid UTF-8")
)

// KeysOf makes the message keys of a payload from the conversation key of its
// two parties.
func KeysOf(conversation [32]byte, payload string) (Keys, error) {
	raw, err := decode(payload)
	if err != nil {
		return Keys{}, err
	}
	return nipae.MessageKeys(conversation, raw.nonce)
}

// ParseKeys reads what Hex gives. The error is ErrKeys.
func ParseKeys(text string) (Keys, error) {
	var k Keys
	if len(text) != 2*Size || strings.Trim(text, "0123456789abcdef") != "" {
		return k, ErrKeys
	}
	_, err := hex.Decode(k[:], []byte(text))
	return k, err
}

// Hex returns the keys as they are handed over: 152 lower-case hex digits.
func (k Keys) Hex() string { return hex.EncodeToString(k[:]) }

// String is "[redacted]".
func (k Keys) String() string { return "[redacted]" }

// GoString is "[redacted]".
func (k Keys) GoString() string { return "[redacted]" }

// OpenEvent decrypts the content of a signed event by its message keys, as Open
// does, and says whether the event's author committed to them. An event that
// commits to others, or says so twice, is ErrCommitment.
func OpenEvent(ev *nostr.Event, k Keys) (text string, committed bool, err error) {
	for _, tag := range ev.Tags {
		if len(tag) == 0 || tag[0] != nipae.CommitTag {
			continue
		}
		if committed || len(tag) < 2 || tag[1] != nipae.Commitment(k)[1] {
			return "", false, ErrCommitment
		}
		committed = true
	}
	text, err = Open(ev.Content, k)
	return text, committed && err == nil, err
}

// Open decrypts a payload by its message keys. It demands that the MAC is
// right, that the text is padded with zeros to exactly the size that NIP-44
// pads it to, and that it is valid UTF-8. Errors are ErrPayload, ErrMAC,
// ErrPadding and ErrText.
func Open(payload string, k Keys) (string, error) {
	raw, err := decode(payload)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, k[44:])
	mac.Write(raw.nonce)
	mac.Write(raw.ciphertext)
	if !hmac.Equal(mac.Sum(nil), raw.mac) {
		return "", ErrMAC
	}
	stream, err := chacha20.NewUnauthenticatedCipher(k[:32], k[32:44])
	if err != nil {
		return "", fmt.Errorf("message keys: %w", err)
	}
	padded := make([]byte, len(raw.ciphertext))
	stream.XORKeyStream(padded, raw.ciphertext)
	size := int(binary.BigEndian.Uint16(padded))
	if size == 0 || len(padded) != 2+nipae.PaddedSize(size) {
		return "", ErrPadding
	}
	text, rest := padded[2:2+size], padded[2+size:]
	for _, b := range rest {
		if b != 0 {
			return "", ErrPadding
		}
	}
	if !utf8.Valid(text) {
		return "", ErrText
	}
	return string(text), nil
}

// parts are those of a payload behind its version.
type parts struct{ nonce, ciphertext, mac []byte }

func decode(payload string) (parts, error) {
	if err := nipae.CheckPayload(payload); err != nil {
		return parts{}, err
	}
	raw, err := base64.StdEncoding.DecodeString(payload)
	if err != nil {
		return parts{}, fmt.Errorf("%w: %w", ErrPayload, err)
	}
	return parts{raw[1:33], raw[33 : len(raw)-32], raw[len(raw)-32:]}, nil
}
