package keys

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"
)

// Key is a key pair that signs. It never shows its secret: that lies in a
// closure, out of reach of fmt, of encoders and of reflection.
type Key struct {
	pubkey string
	secret func() string
	chain  string // of the relay's key: how it came from former ones, a signed statement a line
}

// newKey makes a key of 32 bytes. The error is ErrKey.
func newKey(raw []byte) (Key, error) {
	var scalar btcec.ModNScalar
	if len(raw) != 32 {
		return Key{}, ErrKey
	}
	if overflow := scalar.SetByteSlice(raw); overflow || scalar.IsZero() {
		return Key{}, ErrKey
	}
	secret := hex.EncodeToString(raw)
	pubkey, err := nostr.GetPublicKey(secret)
	if err != nil {
		return Key{}, ErrKey
	}
	return Key{pubkey: pubkey, secret: func() string { return secret }}, nil
}

// makeKey makes a key of a seed of 32 bytes if there is one and it is a key,
// else at random.
func makeKey(seed []byte) (Key, error) {
	if k, err := newKey(seed); err == nil {
		return k, nil
	}
	raw := make([]byte, 32)
	defer clear(raw)
	_, _ = rand.Read(raw) // never fails
	return newKey(raw)    // fails for 1 of 2^127
}

// Derive returns a secret of 32 bytes for one purpose. It is the same wherever the key is.
func (k Key) Derive(purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, []byte(k.secret()), nil, "engramd relay key v1 "+purpose, 32)
}

// PubKey returns the public key, 64 lower-case hex digits.
func (k Key) PubKey() string { return k.pubkey }

// String returns the public key.
func (k Key) String() string { return k.pubkey }

var errSign = errors.New("the relay's key does not sign it")

// Sign sets the event's pubkey, id and signature, without randomness: the same
// event has the same signature. Tags that are nil become an empty list.
func (k Key) Sign(ev *nostr.Event) error {
	if ev.Tags == nil {
		ev.Tags = nostr.Tags{}
	}
	if k.secret == nil {
		return fmt.Errorf("kind %d: %w", ev.Kind, errSign)
	}
	ev.PubKey = k.pubkey
	ev.ID = ev.GetID()
	raw, errKey := hex.DecodeString(k.secret())
	defer clear(raw)
	id, errID := hex.DecodeString(ev.ID)
	secret, _ := btcec.PrivKeyFromBytes(raw)
	sig, err := schnorr.Sign(secret, id)
	if errors.Join(errKey, errID, err) != nil {
		return fmt.Errorf("kind %d: %w", ev.Kind, errSign)
	}
	ev.Sig = hex.EncodeToString(sig.Serialize())
	return nil
}
