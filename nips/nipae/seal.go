package nipae

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"
)

// AltText is the text of the optional alt tag (NIP-31): the same for every
// engram, so that it says nothing about any.
const AltText = "encrypted agent memory record"

// ErrSealing means that what Seal was told makes no event.
var ErrSealing = errors.New("cannot seal the engram")

// Sealing is what Seal needs beside the body. It holds a secret key, so it
// prints as "[redacted]".
type Sealing struct {
	// Secret is the agent's secret key, Owner the owner's public key, each in
	// 64 lower-case hex digits.
	Secret string `json:"-"`
	Owner  string
	// CreatedAt is in Unix seconds; NextCreatedAt gives it.
	CreatedAt int64
	// Nonce is that of NIP-44, never to be used twice under one key. All zero
	// means: 32 bytes from Rand.
	Nonce [32]byte
	// Aux is the auxiliary randomness of the signature (BIP-340). nil means: 32
	// bytes from Rand, or 32 zero bytes without Rand.
	Aux *[32]byte
	// Rand is a cryptographic source, crypto/rand.Reader as a rule. It may be
	// nil where Nonce is given.
	Rand io.Reader
	// Sign signs the id for Author, the public key of Secret, in place of btcec, which
	// unpacks a table first. It returns what BIP-340's "Default Signing" gives with aux,
	// and whose signature that is. Without both it is btcec.
	Sign   func(secret, id, aux *[32]byte) (key [32]byte, sig [64]byte, ok bool) `json:"-"`
	Author string
	// Alt adds the alt tag with AltText.
	Alt bool
	// Commit adds the tag that commits to the payload's message keys.
	Commit bool
	// Expiration, if not 0, is the Unix second from which relays drop the event
	// (NIP-40).
	Expiration int64
	// Protected adds the tag "-": relays take the event from the agent only
	// (NIP-70).
	Protected bool
}

// Format implements fmt.Formatter for every verb, so that none shows the
// secret.
func (Sealing) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// LogValue implements slog.LogValuer; it does not show the secret.
func (Sealing) LogValue() slog.Value { return slog.StringValue(redacted) }

// Seal encrypts the body under the pair's key and signs the event: tags d, p
// and then alt, expiration, "-" and commit as asked for. The same body, Nonce and Aux
// give the same event, byte for byte.
//
// The errors are ErrKey (also if k is not the key of Secret and Owner, since
// nobody could read the event), ErrBody and ErrTooLarge, and ErrSealing for a
// time that is not positive, an expiration that is not after it, a missing
// source of randomness or one that fails. A proposal to oneself is ErrKey.
func Seal(k ConversationKey, b Body, s Sealing) (*nostr.Event, error) {
	want, err := DeriveConversationKey(s.Secret, s.Owner)
	if err != nil {
		return nil, err
	}
	if want != k {
		return nil, fmt.Errorf("%w: the conversation key is another pair's", ErrKey)
	}
	plain, err := b.Bytes()
	if err != nil {
		return nil, err
	}
	if s.CreatedAt <= 0 {
		return nil, fmt.Errorf("%w: it has no time", ErrSealing)
	}
	if s.Expiration != 0 && s.Expiration <= s.CreatedAt {
		return nil, fmt.Errorf("%w: it would expire before it begins", ErrSealing)
	}
	d, err := s.address(k, b.slug)
	if err != nil {
		return nil, err
	}
	aux, err := s.drawRandomness()
	if err != nil {
		return nil, err
	}
	content, err := nip44.Encrypt(string(plain), k, nip44.WithCustomNonce(s.Nonce[:]))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSealing, err)
	}
	ev := &nostr.Event{
		CreatedAt: nostr.Timestamp(s.CreatedAt),
		Kind:      Kind,
		Tags:      s.tags(d),
		Content:   content,
	}
	if s.Commit {
		tag, err := Commit(k, s.Nonce[:])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrSealing, err)
		}
		ev.Tags = append(ev.Tags, tag)
	}
	if err := s.sign(ev, aux); err != nil {
		return nil, err
	}
	return ev, nil
}

// address returns the d of a slug. Only a proposal's depends on who its author
// is; who owns himself cannot propose.
func (s *Sealing) address(k ConversationKey, slug Slug) (string, error) {
	id, ok := strings.CutPrefix(string(slug), ProposalPrefix)
	if !ok || !IsProposalID(id) {
		return k.Address(slug), nil
	}
	author, err := s.Author, error(nil)
	if author == "" || s.Sign == nil { // else nothing holds them together
		if author, err = nostr.GetPublicKey(s.Secret); err != nil {
			return "", fmt.Errorf("%w: the secret key has no public key", ErrKey)
		}
	}
	return ProposalAddress(author, s.Owner, id)
}

// drawRandomness fills in Nonce, on its copy, and returns what Aux stands for.
func (s *Sealing) drawRandomness() (aux [32]byte, err error) {
	if s.Nonce == ([32]byte{}) {
		if s.Rand == nil {
			return aux, fmt.Errorf("%w: it has neither a nonce nor a source of randomness", ErrSealing)
		}
		if _, err := io.ReadFull(s.Rand, s.Nonce[:]); err != nil {
			return aux, fmt.Errorf("%w: no randomness: %w", ErrSealing, err)
		}
		// NIP-44's library would take the zero nonce for none, and draw another.
		if s.Nonce == ([32]byte{}) {
			return aux, fmt.Errorf("%w: the source of randomness gives zeros", ErrSealing)
		}
	}
	switch {
	case s.Aux != nil:
		aux = *s.Aux
	case s.Rand != nil:
		if _, err := io.ReadFull(s.Rand, aux[:]); err != nil {
			return aux, fmt.Errorf("%w: no randomness: %w", ErrSealing, err)
		}
	}
	return aux, nil
}

func (s *Sealing) tags(d string) nostr.Tags {
	tags := nostr.Tags{{"d", d}, {"p", s.Owner}}
	if s.Alt {
		tags = append(tags, nostr.Tag{"alt", AltText})
	}
	if s.Expiration != 0 {
		tags = append(tags, nostr.Tag{"expiration", strconv.FormatInt(s.Expiration, 10)})
	}
	if s.Protected {
		tags = append(tags, nostr.Tag{"-"})
	}
	return tags
}

// sign sets pubkey, id and signature.
func (s *Sealing) sign(ev *nostr.Event, aux [32]byte) error {
	raw, err := hex.DecodeString(s.Secret)
	if s.Sign == nil || s.Author == "" || err != nil || len(raw) != 32 {
		return sign(ev, s.Secret, aux)
	}
	ev.PubKey = s.Author
	id := sha256.Sum256(ev.Serialize())
	key, sig, ok := s.Sign((*[32]byte)(raw), &id, &aux)
	if !ok || hex.EncodeToString(key[:]) != s.Author {
		return fmt.Errorf("%w: the secret key is not the author's", ErrKey)
	}
	ev.ID, ev.Sig = hex.EncodeToString(id[:]), hex.EncodeToString(sig[:])
	return nil
}

// sign does not use go-nostr's Sign, which
// leaves aux out, or draws it itself, depending on how it is built: 32 zero
// bytes of aux are not the same as none (BIP-340, "Default Signing").
func sign(ev *nostr.Event, secret string, aux [32]byte) error {
	raw, err := hex.DecodeString(secret)
	if err != nil {
		return fmt.Errorf("%w: the secret key is not hex", ErrKey)
	}
	private, public := btcec.PrivKeyFromBytes(raw)
	defer private.Zero()
	ev.PubKey = hex.EncodeToString(schnorr.SerializePubKey(public))
	id := sha256.Sum256(ev.Serialize())
	// The library checks what it made before it returns it.
	sig, err := schnorr.Sign(private, id[:], schnorr.CustomNonce(aux))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSealing, err)
	}
	ev.ID = hex.EncodeToString(id[:])
	ev.Sig = hex.EncodeToString(sig.Serialize())
	return nil
}
