package client

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// ErrStray means that an event does not fit the filter that it answers.
var ErrStray = errors.New("the event does not fit the question")

// Collector unites what the relays of one Ask send: every event is parsed
// strictly, matched and verified, the same one only once. The zero collector
// remembers none.
type Collector struct {
	mu       sync.Mutex
	known    map[string]*nostr.Event
	Verified func(id string) bool // of an event whose signature was checked before; nil: of none
}

// NewCollector returns a Collector that knows no event.
func NewCollector() *Collector { return &Collector{known: map[string]*nostr.Event{}} }

// Admit returns the event if it is one that answers f. Its id is always
// computed; the signature only of events that are new.
func (col *Collector) Admit(raw json.RawMessage, f nostr.Filter) (*nostr.Event, error) {
	ev, err := wire.ParseEvent(raw)
	if err != nil {
		return nil, err
	}
	if !f.Matches(ev) {
		return nil, ErrStray
	}
	if wire.ID(ev) != ev.ID {
		return nil, wire.ErrID
	}
	col.mu.Lock()
	known := col.known[ev.ID]
	col.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if col.Verified == nil || !col.Verified(ev.ID) {
		if err := wire.Verify(ev); err != nil {
			return nil, err
		}
	}
	col.mu.Lock()
	defer col.mu.Unlock()
	if known := col.known[ev.ID]; known != nil {
		return known, nil
	}
	if col.known != nil {
		col.known[ev.ID] = ev
	}
	return ev, nil
}

// Budget is what one relay may still send in answer to one question.
type Budget struct {
	Limits   Limits
	bytes    int64
	events   int
	Rejected int
}

// Spend counts one event of that size.
func (b *Budget) Spend(size int) error {
	b.events++
	b.bytes += int64(size)
	switch {
	case b.events > b.Limits.Events:
		return fmt.Errorf("%w: it sent more than %d events", ErrMisbehaved, b.Limits.Events)
	case b.bytes > b.Limits.Bytes:
		return fmt.Errorf("%w: it sent more than %d bytes", ErrMisbehaved, b.Limits.Bytes)
	}
	return nil
}

// Reject counts one event that is wrong.
func (b *Budget) Reject(why error) error {
	if b.Rejected++; b.Rejected > MaxRejected {
		return fmt.Errorf("%w: it sent more than %d wrong events, at last: %w", ErrMisbehaved, MaxRejected, why)
	}
	return nil
}

// NewestFirst sorts events as relays do: by time, ties by lowest id.
func NewestFirst(events []*nostr.Event) {
	slices.SortFunc(events, func(a, b *nostr.Event) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
}

// Entry is one version of one record, decrypted.
type Entry struct {
	Slug      nipae.Slug
	Text      string // empty for a tombstone
	Tombstone bool
	ID        string // of the event, 64 hex digits
	CreatedAt int64  // Unix seconds
	Size      int    // of Text in bytes
	Hash      string // of Text: see Hash; empty for a tombstone
	Expires   int64  // Unix seconds (NIP-40); 0 for never
}

// Hash returns the SHA-256 of a text in 64 lower-case hex digits: what
// SetOptions.Base is compared with.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// EntryOf makes the entry of a valid engram.
func EntryOf(e nipae.Engram) Entry {
	text, ok := e.Body.Text()
	entry := Entry{Slug: e.Slug(), Text: text, Tombstone: !ok, ID: e.Event.ID, CreatedAt: e.CreatedAt(), Size: len(text)}
	entry.Expires, _ = nipae.Expiration(e.Event)
	if ok {
		entry.Hash = Hash(text)
	}
	return entry
}
