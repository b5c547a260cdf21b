package nipae

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/nbd-wtf/go-nostr"
)

// Slug is the private name of a record: "core", or "mem/" and one or more
// segments between slashes (NIP-AE, "Slugs"). A Slug from ParseSlug or
// NormalizeSlug is valid; a conversion from string is not checked.
type Slug string

// Core is the slug of the one record that says who the agent is.
const Core Slug = "core"

const (
	// memoryPrefix begins every slug but Core.
	memoryPrefix = "mem/"
	// maxSlug and maxSegment are lengths in bytes.
	maxSlug    = 255
	maxSegment = 64
)

// ErrSlug is what every error of ParseSlug and NormalizeSlug is.
var ErrSlug = errors.New("not a slug")

// ParseSlug checks that s is a slug as it stands in a body: "core", or
// ^mem/[a-z0-9][a-z0-9_-]{0,63}(/[a-z0-9][a-z0-9_-]{0,63})*$ with at most 255
// bytes. The error is ErrSlug, says what is wrong, and does not repeat s.
func ParseSlug(s string) (Slug, error) {
	if s == string(Core) {
		return Core, nil
	}
	rest, ok := strings.CutPrefix(s, memoryPrefix)
	if !ok {
		return "", fmt.Errorf("%w: it is neither core nor begins with mem/", ErrSlug)
	}
	if len(s) > maxSlug {
		return "", fmt.Errorf("%w: it is longer than %d bytes", ErrSlug, maxSlug)
	}
	for segment := range strings.SplitSeq(rest, "/") {
		if err := checkSegment(segment); err != nil {
			return "", err
		}
	}
	return Slug(s), nil
}

// NormalizeSlug is ParseSlug for command lines: what is neither core nor
// begins with mem/ gets mem/ in front, so "foo" is mem/foo. Nothing else is
// changed or forgiven: case, spaces and empty segments are errors.
func NormalizeSlug(s string) (Slug, error) {
	if s != string(Core) && !strings.HasPrefix(s, memoryPrefix) {
		s = memoryPrefix + s
	}
	return ParseSlug(s)
}

// IsCore reports whether s is Core.
func (s Slug) IsCore() bool { return s == Core }

// checkSegment judges what stands between two slashes.
func checkSegment(segment string) error {
	switch {
	case segment == "":
		return fmt.Errorf("%w: a part of it is empty", ErrSlug)
	case len(segment) > maxSegment:
		return fmt.Errorf("%w: a part of it is longer than %d bytes", ErrSlug, maxSegment)
	case segment[0] == '_' || segment[0] == '-':
		return fmt.Errorf("%w: each part must begin with a letter or a digit", ErrSlug)
	}
	for i := 0; i < len(segment); i++ {
		if c := segment[i]; c == '/' || !isSlugByte(c) {
			return fmt.Errorf("%w: only a-z, 0-9, _ and - may stand in it", ErrSlug)
		}
	}
	return nil
}

// isSlugByte reports whether c occurs in slugs.
func isSlugByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '/'
}

// ConversationKey is K_c, the NIP-44 key that agent and owner share (NIP-AE,
// "Addressing"). Whoever has it reads everything of the pair, so it does not
// print itself: fmt (any verb), slog and encoding/json show "[redacted]". Only
// as an unexported field of a struct that is printed whole would its bytes
// show, as fmt calls no methods there.
type ConversationKey [32]byte

// ErrKey is what every error about a secret, public or conversation key is. It
// never repeats the key.
var ErrKey = errors.New("not a usable key")

// redacted is what secrets print as.
const redacted = "[redacted]"

// addressDomain and a zero byte precede the slug in the address.
const addressDomain = "agent-memory/v1/d-tag"

// curveOrder is the order of secp256k1: secret keys are 1 to it, exclusive.
const curveOrder = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"

// DeriveConversationKey returns the key of a pair from one party's secret key
// and the other's public key, both 64 lower-case hex digits: the agent's
// secret and the owner's public key give the same as the owner's secret and
// the agent's public key. An agent may own itself.
//
// It is HKDF-extract (SHA-256) of the 32-byte x coordinate of the shared
// point, not hashed before, with the salt "nip44-v2" (NIP-44, "Encryption").
// The error is ErrKey and never holds the secret.
func DeriveConversationKey(secret, pubkey string) (ConversationKey, error) {
	if err := checkSecret(secret); err != nil {
		return ConversationKey{}, err
	}
	if !nostr.IsValid32ByteHex(pubkey) {
		return ConversationKey{}, fmt.Errorf("%w: a public key is 64 lower-case hex digits", ErrKey)
	}
	scalar, _ := hex.DecodeString(secret) // which it is, and so is the next
	point, _ := hex.DecodeString("02" + pubkey)
	public, err := btcec.ParsePubKey(point)
	if err != nil {
		// The library's text may repeat what it was given.
		return ConversationKey{}, fmt.Errorf("%w: the public key is not on the curve", ErrKey)
	}
	// nip44.GenerateConversationKey would also make the secret's public key, and for that
	// unpack a table, which takes 7 to 11 ms in each process.
	var private btcec.PrivateKey
	defer private.Zero()
	private.Key.SetByteSlice(scalar)
	key, err := hkdf.Extract(sha256.New, btcec.GenerateSharedSecret(&private, public), []byte("nip44-v2"))
	if err != nil {
		return ConversationKey{}, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return ConversationKey(key), nil
}

// checkSecret checks that s is a secret key in hex.
func checkSecret(s string) error {
	if !nostr.IsValid32ByteHex(s) {
		return fmt.Errorf("%w: a secret key is 64 lower-case hex digits", ErrKey)
	}
	// Text of one length and case compares as the numbers do.
	if s >= curveOrder || s == zeroHex {
		return fmt.Errorf("%w: the secret key is zero or not below the order of the curve", ErrKey)
	}
	return nil
}

const zeroHex = "0000000000000000000000000000000000000000000000000000000000000000"

// Address returns the d tag of the slug's record: HMAC-SHA256 under the key of
// "agent-memory/v1/d-tag", a zero byte and the slug, as 64 lower-case hex
// digits (NIP-AE, "Addressing"). It says nothing about the slug to others.
func (k ConversationKey) Address(s Slug) string {
	mac := hmac.New(sha256.New, k[:])
	io.WriteString(mac, addressDomain)
	mac.Write([]byte{0})
	io.WriteString(mac, string(s))
	return hex.EncodeToString(mac.Sum(nil))
}

// Format implements fmt.Formatter for every verb, so that none shows the key.
func (ConversationKey) Format(f fmt.State, _ rune) { io.WriteString(f, redacted) }

// String implements fmt.Stringer; it does not show the key.
func (ConversationKey) String() string { return redacted }

// GoString implements fmt.GoStringer; it does not show the key.
func (ConversationKey) GoString() string { return redacted }

// LogValue implements slog.LogValuer; it does not show the key.
func (ConversationKey) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText implements encoding.TextMarshaler, which encoding/json uses too;
// it does not show the key.
func (ConversationKey) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// ProposalPrefix begins the slug of a proposal: an engram in the reversed pair,
// whose author is the proposer and whose p tag names the agent. What follows it
// is the proposal's id.
const ProposalPrefix = memoryPrefix + "proposals/"

// AnswerPrefix begins the slug of the answer to a proposal, in the agent's pair
// with the proposer. Its address is any engram's.
const AnswerPrefix = memoryPrefix + "proposals-answers/"

const proposalDomain = "engramd/proposal/v1"

// ProposalAddress returns the d of a proposal: lower-case hex of SHA-256 over
// "engramd/proposal/v1", a zero byte, the proposer's and the agent's public keys
// (32 bytes each) and the id in ASCII. It does not depend on the pair's
// conversation key, which signers of NIP-07 and NIP-46 never give away. The id is
// 32 lower-case hex digits; the errors are ErrKey and ErrSlug. Who owns himself
// writes his memory and cannot propose anything to it: that is ErrKey too.
//
// testdata/vectors/proposal-address.json has vectors.
func ProposalAddress(proposer, agent, id string) (string, error) {
	h := sha256.New()
	io.WriteString(h, proposalDomain)
	h.Write([]byte{0})
	for _, key := range []string{proposer, agent} {
		raw, err := hex.DecodeString(key)
		if err != nil || !nostr.IsValid32ByteHex(key) {
			return "", fmt.Errorf("%w: a public key is 64 lower-case hex digits", ErrKey)
		}
		h.Write(raw)
	}
	if proposer == agent {
		return "", fmt.Errorf("%w: who owns himself cannot propose", ErrKey)
	}
	if !IsProposalID(id) {
		return "", fmt.Errorf("%w: the id of a proposal is 32 lower-case hex digits", ErrSlug)
	}
	io.WriteString(h, id)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// IsProposalID reports whether s is 32 lower-case hex digits.
func IsProposalID(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == ""
}

// IsExchange reports whether a slug is that of a proposal or of an answer to
// one. They are no memory: of the pair in which an owner writes to his agent,
// nothing else is to be shown, and it counts as remembering nothing.
func IsExchange(s Slug) bool {
	return strings.HasPrefix(string(s), ProposalPrefix) || strings.HasPrefix(string(s), AnswerPrefix)
}

// AddressIn returns the d at which an author keeps a slug for another key: that
// of ProposalAddress for a proposal, and k's for every other slug. For the same
// key there is no proposal, and the slug is one like any other.
func AddressIn(k ConversationKey, author, other string, s Slug) string {
	if id, ok := strings.CutPrefix(string(s), ProposalPrefix); ok {
		if d, err := ProposalAddress(author, other, id); err == nil {
			return d
		}
	}
	return k.Address(s)
}
