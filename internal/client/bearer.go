package client

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"

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
	// To sign names the key. With libsecp256k1 that takes 50 µs; nostr.GetPublicKey first
	// unpacks a table, which is 7 to 11 ms of each process.
	var ev nostr.Event
	if err := ev.Sign(secretHex); err != nil {
		return Identity{}, fmt.Errorf("%w: it has no public key", ErrIdentity)
	}
	return Identity{pubkey: ev.PubKey, reveal: func() string { return secretHex }}, nil
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

// bearer is a token with which an agent acts whose key a relay keeps. It is
// sent to that relay alone, and shown to nobody: it lies in a closure, as
// secret keys do.
type bearer struct {
	relay  Target
	reveal func() string

	mu     sync.Mutex
	pubkey string // of who it stands for; known from the first answer on
}

// ErrNoKey means that something needs the secret key itself, and there is a
// token.
var ErrNoKey = errors.New("this needs the agent's key, and there is a bearer token only")

// NewBearer makes a client that acts by a bearer token: on contracts, by the
// API of the one relay that has made the token. Everybody else's word is read
// as nobody. The errors are ErrInvalid and ErrCleartext; none repeats the
// token.
func NewBearer(token, relay string, o Options) (*Client, error) {
	o.Relays, o.WriteListed = []string{relay}, false
	c := New(Identity{}, o)
	t := c.Targets()[0]
	switch {
	case t.Err != nil:
		return nil, fmt.Errorf("%w: the relay of the token: %w", ErrInvalid, t.Err)
	case !IsToken(token):
		return nil, fmt.Errorf("%w: this is no bearer token", ErrInvalid)
	case !IsPrivate(t.URL):
		return nil, fmt.Errorf("%s: %w", Printable(t.URL), ErrCleartext)
	}
	c.http.token = &bearer{relay: t, reveal: func() string { return token }}
	return c, nil
}

// ByToken reports whether the client acts by a bearer token.
func (h *HTTP) ByToken() bool { return h.token != nil }

// Known finds out which key a token stands for, once, by asking its relay; with
// a key there is nothing to find.
func (h *HTTP) Known(ctx context.Context, ask func(ctx context.Context, relay Target) (pubkey string, err error)) (Status, error) {
	b := h.token
	if b == nil {
		return Status{}, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pubkey != "" {
		return Status{}, nil
	}
	var err error
	if b.pubkey, err = ask(ctx, b.relay); err != nil {
		s := Status{Relays: []RelayStatus{{URL: b.relay.URL, Err: err}}}
		s.Partial = Partial(s.Relays)
		return s, fmt.Errorf("%s: %w", Printable(b.relay.URL), err)
	}
	return Status{}, nil
}

// Me returns the key that acts, in hex; "" for nobody, and while it is not
// known which one a token stands for.
func (h *HTTP) Me() string {
	b := h.token
	if b == nil {
		return h.id.PubKey()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pubkey
}

// bearerFor returns the token for a relay: "" without one. Who has a token has
// nothing else to prove, and asks no other relay over HTTP.
func (h *HTTP) bearerFor(t Target) (string, error) {
	if h.token == nil {
		return "", nil
	}
	if t.Canonical != h.token.relay.Canonical {
		return "", fmt.Errorf("%w: a token is for the relay that made it", ErrInvalid)
	}
	return h.token.reveal(), nil
}

// ErrCleartext means that a bearer token would go over a line that others can
// read.
var ErrCleartext = errors.New("a bearer token is sent over wss:// or to this machine only")

// IsToken reports whether a text can be a bearer token.
func IsToken(token string) bool {
	return token != "" && Printable(token) == token && !strings.ContainsAny(token, " \t")
}

// IsPrivate reports whether what is sent to a relay is read by it alone.
func IsPrivate(relay string) bool {
	u, err := url.Parse(relay)
	if err != nil {
		return false
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	return strings.EqualFold(u.Scheme, "wss") || host == "localhost" || err == nil && net.IP(addr.AsSlice()).IsLoopback()
}
