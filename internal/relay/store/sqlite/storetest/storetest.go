// Package storetest opens throw-away stores and makes signed events for tests.
package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/testkeys"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// Start is where a new Clock stands.
var Start = time.Unix(1_700_000_000, 0)

// Clock is a clock that stands until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at Start.
func NewClock() *Clock { return &Clock{now: Start} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Add moves the clock.
func (c *Clock) Add(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
}

// MustOpen opens a store in a temporary folder, under the built-in gate rules
// and with a Clock unless the options (each may change them) say otherwise. It
// is closed when the test ends.
func MustOpen(tb testing.TB, change ...func(*sqlite.Options)) *sqlite.Store {
	tb.Helper()
	o := Options(tb, change...)
	New(tb, o.Path)
	s, err := sqlite.Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close store: %v", err)
		}
	})
	return s
}

// Options returns the options that MustOpen uses, for tests that open, close
// and open again.
func Options(tb testing.TB, change ...func(*sqlite.Options)) sqlite.Options {
	tb.Helper()
	o := sqlite.Options{
		Options: engine.Options{Path: filepath.Join(tb.TempDir(), "engramd.db"), Clock: NewClock().Now},
		Table:   MustTable(tb, gate.Options{}),
	}
	for _, c := range change {
		c(&o)
	}
	return o
}

// MustTable compiles gate options.
func MustTable(tb testing.TB, o gate.Options) *gate.Table {
	tb.Helper()
	t, err := gate.NewTable(o)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// Key is a key pair.
type Key struct {
	Secret string // 64 hex digits
	Pub    string // 64 hex digits
}

// NewKey derives a key pair from a name, the same one every time.
func NewKey(name string) Key {
	key := testkeys.New(name)
	return Key{Secret: key.Secret, Pub: key.Pub}
}

// Sign makes a signed event. created is in seconds after Start and may be
// negative.
func (k Key) Sign(kind int, created int64, content string, tags ...nostr.Tag) *nostr.Event {
	ev := &nostr.Event{
		CreatedAt: nostr.Timestamp(Start.Unix() + created),
		Kind:      kind,
		Tags:      append(nostr.Tags{}, tags...),
		Content:   content,
	}
	if err := ev.Sign(k.Secret); err != nil {
		panic(err)
	}
	return ev
}

// Signer signs whole events with a key, as the relay does with its own.
type Signer struct{ Key }

// Sign sets the event's pubkey, id and signature.
func (s Signer) Sign(ev *nostr.Event) error { return ev.Sign(s.Secret) }

// PubKey is the key's public half.
func (s Signer) PubKey() string { return s.Pub }

// Handovers are none: the key has not changed.
func (s Signer) Handovers(context.Context) ([]*nostr.Event, error) { return nil, nil }

// SignAs signs as this key, and as no other.
func (s Signer) SignAs(pubkey string, ev *nostr.Event) error {
	if pubkey != s.Pub {
		return errors.New("the secret of that key is not here")
	}
	return s.Sign(ev)
}

// Fake makes an event with a true id and a signature that is none: the store
// does not look at it, and thousands are made in the time of one real one.
func (k Key) Fake(kind int, created int64, content string, tags ...nostr.Tag) *nostr.Event {
	ev := &nostr.Event{
		PubKey:    k.Pub,
		CreatedAt: nostr.Timestamp(Start.Unix() + created),
		Kind:      kind,
		Tags:      append(nostr.Tags{}, tags...),
		Content:   content,
	}
	ev.ID = ev.GetID()
	ev.Sig = ev.ID + ev.ID
	return ev
}

// Note is a text note (kind 1).
func (k Key) Note(created int64, content string, tags ...nostr.Tag) *nostr.Event {
	return k.Fake(1, created, content, tags...)
}

// Engram is an event with the envelope of NIP-AE and a payload that looks
// encrypted. slug only names the address.
func (k Key) Engram(owner Key, created int64, slug string) *nostr.Event {
	d := sha256.Sum256([]byte(slug))
	return k.Fake(30174, created, Payload(fmt.Sprint(k.Pub, created, slug)),
		nostr.Tag{"d", hex.EncodeToString(d[:])}, nostr.Tag{"p", owner.Pub})
}

// Entry is a contract entry (NIP-TEMP, kind 30090) in plain text.
func (k Key) Entry(to Key, created int64, contract, text string) *nostr.Event {
	return k.Fake(30090, created, `{"type":"message","content":`+strconv.Quote(text)+`}`,
		nostr.Tag{"d", contract}, nostr.Tag{"p", to.Pub}, nostr.Tag{"t", "message"})
}

// State is a contract state (NIP-TEMP, kind 30091).
func (k Key) State(to Key, created int64, contract, previous, status string) *nostr.Event {
	at := time.Unix(Start.Unix()+created, 0).UTC().Format(time.RFC3339)
	content := fmt.Sprintf(`{"contract_id":%q,"status":%q,"previous_status":%q,"poster_agent_id":"","worker_agent_id":"",`+
		`"amount_sats":0,"description":"","transition_at":%q}`, contract, status, previous, at)
	return k.Fake(30091, created, content, nostr.Tag{"d", contract}, nostr.Tag{"p", to.Pub})
}

// Delete is a deletion request (NIP-09). targets are event ids or addresses.
func (k Key) Delete(created int64, targets ...string) *nostr.Event {
	var tags []nostr.Tag
	for _, t := range targets {
		name := "a"
		if len(t) == 64 {
			name = "e"
		}
		tags = append(tags, nostr.Tag{name, t})
	}
	return k.Fake(5, created, "", tags...)
}

// Vanish is a request to vanish (NIP-62).
func (k Key) Vanish(created int64) *nostr.Event {
	return k.Fake(62, created, "", nostr.Tag{"relay", "ALL_RELAYS"})
}

// Address is the value of an a tag.
func Address(ev *nostr.Event) string {
	return strconv.Itoa(ev.Kind) + ":" + ev.PubKey + ":" + ev.Tags.GetD()
}
