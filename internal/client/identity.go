package client

import (
	"encoding/hex"
	"fmt"
	"log/slog"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/nbd-wtf/go-nostr"
)

// Identity is who asks: a key pair that signs. The zero Identity is nobody; it
// signs nothing. An Identity never shows its secret: it lies in a closure, out
// of reach of fmt, of encoders and of reflection.
type Identity struct {
	pubkey string
	reveal func() string               // nil: it signs by sign, or not at all
	sign   func(ev *nostr.Event) error // of Signing
}

// NewIdentity makes an identity of a secret key in 64 lower-case hex digits.
// The error is ErrIdentity and does not repeat what was given.
func NewIdentity(secretHex string) (Identity, error) {
	raw, err := hex.DecodeString(secretHex)
	if err != nil || len(raw) != 32 || hex.EncodeToString(raw) != secretHex {
		return Identity{}, fmt.Errorf("%w: it must be 64 lower-case hex digits", ErrIdentity)
	}
	var scalar btcec.ModNScalar
	if overflow := scalar.SetByteSlice(raw); overflow || scalar.IsZero() {
		return Identity{}, fmt.Errorf("%w: it is out of range", ErrIdentity)
	}
	pubkey, err := nostr.GetPublicKey(secretHex)
	if err != nil {
		return Identity{}, fmt.Errorf("%w: it has no public key", ErrIdentity)
	}
	return Identity{pubkey: pubkey, reveal: func() string { return secretHex }}, nil
}

// Signing makes an identity that signs by a function of its holder, which sets
// pubkey, id and signature. It answers AUTH and signs what it publishes; to
// encrypt, or for Using, there is no secret key.
func Signing(pubkey string, sign func(ev *nostr.Event) error) Identity {
	return Identity{pubkey: pubkey, sign: sign}
}

// Using gives the secret key, 64 lower-case hex digits, to a function that
// keeps it out of reach as well. The error is that of the function, or
// ErrIdentity for nobody.
func Using[T any](i Identity, do func(secretHex string) (T, error)) (out T, err error) {
	if i.reveal == nil {
		return out, fmt.Errorf("%w: there is none", ErrIdentity)
	}
	return do(i.reveal())
}

// HasKey reports whether the identity has its secret key, for Using.
func (i Identity) HasKey() bool { return i.reveal != nil }

// PubKey returns the public key, 64 lower-case hex digits; "" for nobody.
func (i Identity) PubKey() string { return i.pubkey }

// Sign sets the event's pubkey, id and signature. Tags that are nil become an
// empty list.
func (i Identity) Sign(ev *nostr.Event) error {
	if ev.Tags == nil {
		ev.Tags = nostr.Tags{}
	}
	switch {
	case i.sign != nil:
		return i.sign(ev)
	case i.reveal == nil:
		return fmt.Errorf("%w: there is none to sign with", ErrIdentity)
	}
	if err := ev.Sign(i.reveal()); err != nil {
		return fmt.Errorf("sign kind %d: %w", ev.Kind, ErrIdentity)
	}
	return nil
}

// String returns the public key.
func (i Identity) String() string { return i.pubkey }

// LogValue returns the public key.
func (i Identity) LogValue() slog.Value { return slog.StringValue(i.pubkey) }
