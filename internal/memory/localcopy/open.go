package localcopy

import (
	"crypto/sha256"
	"errors"
	"runtime"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// opened is an event that the agent signed, taken apart.
type opened struct {
	event
	text   string
	signed *nostr.Event // as it came
}

// opener takes an event apart; false if it is not one that the agent signed for
// this pair at one address.
type opener func(ev *nostr.Event) (opened, bool)

func openerOf(p Pair) opener {
	return func(ev *nostr.Event) (opened, bool) {
		engram, err := nipae.Open(p.Conversation, p.Agent, p.Owner, ev)
		o := opened{event: event{created: int64(ev.CreatedAt)}, signed: ev}
		var fine bool
		if o.id, fine = decodeID(ev.ID); !fine {
			return o, false
		}
		if o.d, fine = decodeID(ev.Tags.GetD()); !fine {
			return o, false
		}
		if err != nil {
			o.state, o.reason = unreadable, reasonOf(err)
			return o, isSigned(ev, err)
		}
		if p.Reversed && !nipae.IsExchange(engram.Slug()) {
			return o, false
		}
		o.slug = string(engram.Slug())
		text, ok := engram.Body.Text()
		if !ok {
			o.state = tombstone
			return o, true
		}
		sum := sha256.Sum256([]byte(text))
		o.text, o.size, o.hash = text, len(text), sum[:]
		return o, true
	}
}

// isSigned reports whether an event that cannot be read was signed by the agent
// for one address all the same: then it may hide a head, and counts.
func isSigned(ev *nostr.Event, err error) bool {
	return errors.Is(err, nipae.ErrUnreadable) || errors.Is(err, nipae.ErrBody) || errors.Is(err, nipae.ErrPayload) && wire.Verify(ev) == nil
}

// reasonOf is why an event cannot be read, in words that repeat nothing of it.
func reasonOf(err error) string {
	for _, known := range []error{nipae.ErrUnreadable, nipae.ErrBody, nipae.ErrPayload} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "it cannot be read"
}

// openAll opens events on all processors; what is not signed is nil.
func openAll(m *Copy, events []*nostr.Event) []*opened {
	out := make([]*opened, len(events))
	var each sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), len(events))
	for w := range workers {
		each.Go(func() {
			for i := w; i < len(events); i += workers {
				if o, ok := m.open(events[i]); ok {
					out[i] = &o
				}
			}
		})
	}
	each.Wait()
	return out
}

// application marks the file as one of this package: "engM".
const application = 0x656e674d

// schema is the file, step by step. A step that was released never changes.
var schema = []string{`
-- seq numbers changes of heads. Changes up to floor may be forgotten: an index
-- that is older must be loaded anew.
CREATE TABLE counter (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, floor INTEGER NOT NULL);
INSERT INTO counter VALUES (1, 0, 0);

-- An address (d tag) and its head. slug is '' while nothing there can be read;
-- head is NULL once nothing is there; seq is its last change.
CREATE TABLE places (
  a INTEGER PRIMARY KEY, d BLOB NOT NULL UNIQUE, slug TEXT NOT NULL,
  head INTEGER, doubtful INTEGER NOT NULL, seq INTEGER NOT NULL);
CREATE INDEX places_by_seq ON places (seq);
CREATE INDEX places_by_slug ON places (slug) WHERE slug <> '';

-- Events whose signature was checked. state is one of state.go's.
CREATE TABLE events (
  n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, a INTEGER NOT NULL, created INTEGER NOT NULL,
  state INTEGER NOT NULL, reason TEXT NOT NULL, size INTEGER NOT NULL, hash BLOB, mac BLOB NOT NULL);
CREATE INDEX events_by_place ON events (a);
CREATE INDEX events_unreadable ON events (a) WHERE state = 2; -- unreadable, of which there are few
CREATE TABLE texts (n INTEGER PRIMARY KEY, text BLOB NOT NULL);

-- What each relay was last seen to have, and how far it was seen. Times are Unix
-- milliseconds, newest is in seconds.
CREATE TABLE relays (
  r INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, newest INTEGER NOT NULL,
  confirmed INTEGER NOT NULL, compared INTEGER NOT NULL, complete INTEGER NOT NULL, mac BLOB NOT NULL);
CREATE TABLE held (n INTEGER NOT NULL, r INTEGER NOT NULL, PRIMARY KEY (n, r)) WITHOUT ROWID;

-- The index of recall as it was at a change.
CREATE TABLE kept (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, mac BLOB NOT NULL, blob BLOB NOT NULL);

CREATE TABLE models (m INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE vectors (m INTEGER NOT NULL, hash BLOB NOT NULL, mac BLOB NOT NULL, sections BLOB NOT NULL, UNIQUE (m, hash));
`, `
-- Tells a relay's row from another one of the same relay, before or after it was
-- forgotten, or in another file.
ALTER TABLE relays ADD COLUMN life INTEGER NOT NULL DEFAULT 0;
`, `
-- Events as they were signed, of those whose row has the rest (raw.go). expires is in
-- Unix seconds (NIP-40), 0 for never.
CREATE TABLE raws (n INTEGER PRIMARY KEY, expires INTEGER NOT NULL, raw BLOB NOT NULL);
-- behind is what relays show of the head: see Shown.
ALTER TABLE places ADD COLUMN behind INTEGER NOT NULL DEFAULT 0;
CREATE INDEX places_behind ON places (a) WHERE behind > 0;
-- lacking: see Lacking.
ALTER TABLE counter ADD COLUMN lacking INTEGER NOT NULL DEFAULT -1;
`, `
-- expires is negative once the text is gone: a relay may show the event still.
CREATE INDEX raws_expiring ON raws (expires) WHERE expires > 0;
`}
