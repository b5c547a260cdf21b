package bundle

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/kind"
)

// Signer signs an event: it sets pubkey, id and sig.
type Signer func(*nostr.Event) error

// NewSigner returns a Signer with a secret key of 64 hex digits. It signs
// without randomness, so that the same manifest has the same signature.
func NewSigner(secret string) (Signer, error) {
	b, err := hex.DecodeString(secret)
	if err != nil || len(b) != 32 {
		return nil, errors.New("a secret key is 64 hex digits")
	}
	var scalar btcec.ModNScalar
	if overflow := scalar.SetByteSlice(b); overflow || scalar.IsZero() {
		return nil, errors.New("the secret key is out of range")
	}
	key := btcec.PrivKeyFromScalar(&scalar)
	pub := hex.EncodeToString(schnorr.SerializePubKey(key.PubKey()))
	return func(ev *nostr.Event) error {
		ev.PubKey = pub
		ev.ID = wire.ID(ev)
		id, err := hex.DecodeString(ev.ID)
		if err != nil {
			return err
		}
		sig, err := schnorr.Sign(key, id)
		if err != nil {
			return fmt.Errorf("sign: %w", err)
		}
		ev.Sig = hex.EncodeToString(sig.Serialize())
		return nil
	}, nil
}

// signManifest returns manifest.sig: an event of kind 24174, never published,
// that names the SHA-256 of the manifest.
func signManifest(sign Signer, m *Manifest, manifestJSON []byte) ([]byte, error) {
	sum := sha256.Sum256(manifestJSON)
	ev := &nostr.Event{
		Kind:      kind.Statement,
		CreatedAt: nostr.Timestamp(m.CreatedAt.Unix()),
		Tags:      nostr.Tags{{"x", hex.EncodeToString(sum[:])}, {"format", Format}},
	}
	if err := sign(ev); err != nil {
		return nil, fmt.Errorf("sign the manifest: %w", err)
	}
	return wire.AppendEvent(nil, ev), nil
}

// checkSignature returns the key that signed the manifest.
func checkSignature(sig, manifestJSON []byte) (string, error) {
	r, err := parseCanonical(sig)
	if err != nil {
		return "", fmt.Errorf("manifest.sig: %w", err)
	}
	ev := r.ev
	sum := sha256.Sum256(manifestJSON)
	switch {
	case ev.Kind != kind.Statement:
		return "", fmt.Errorf("manifest.sig is of kind %d instead of %d", ev.Kind, kind.Statement)
	case len(ev.Tags) != 2 || len(ev.Tags[0]) != 2 || len(ev.Tags[1]) != 2 || ev.Tags[0][0] != "x" ||
		ev.Tags[1][0] != "format" || ev.Tags[1][1] != Format || ev.Content != "":
		return "", errors.New("manifest.sig does not have the tags of a snapshot's signature")
	case ev.Tags[0][1] != hex.EncodeToString(sum[:]):
		return "", errors.New("manifest.sig signs another manifest")
	}
	if err := wire.Verify(ev); err != nil {
		return "", fmt.Errorf("manifest.sig: %w", err)
	}
	return ev.PubKey, nil
}
