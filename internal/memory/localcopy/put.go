package localcopy

import (
	"cmp"
	"context"
	"encoding/hex"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/wire"
	"engramd/nips/nip77"
	"engramd/nips/nipae"
)

// Changes are what a writing did.
type Changes struct {
	// New is how many events were not here before, Rejected how many are none
	// that the agent signed for this pair, or not at one address: they are not
	// kept.
	New, Rejected int
	// Heads is how many addresses have another head now, or none any more.
	Heads int
}

func (c *Changes) add(o Changes) {
	c.New += o.New
	c.Rejected += o.Rejected
	c.Heads += o.Heads
}

// putAtOnce is how many events one transaction takes in: others write between.
const putAtOnce = 500

// Put takes in events that a relay has, in any order; those that are here
// already are noted as the relay's too. Signatures of new ones are checked,
// whatever was checked before. A newer readable event of an address says that
// the relay has the older ones no more. What the agent signed and nobody can
// read is kept as that. With no relay ("") they are events that none shows.
//
// An error leaves what was taken in of the batches before it.
func (m *Copy) Put(ctx context.Context, relay string, events []*nostr.Event) (Changes, error) {
	var all Changes
	for batch := range slices.Chunk(events, putAtOnce) {
		c, err := putBatch(ctx, m, relay, batch)
		if all.add(c); err != nil {
			return all, err
		}
	}
	keepIndexNow(ctx, m)
	return all, nil
}

func putBatch(ctx context.Context, m *Copy, relay string, events []*nostr.Event) (changes Changes, err error) {
	var took []*opened
	took, changes.Rejected, err = readable(ctx, m, events)
	if err != nil {
		return changes, err
	}
	// Oldest first, so that of two versions the newer one counts.
	slices.SortFunc(took, func(a, b *opened) int {
		return cmp.Or(cmp.Compare(a.created, b.created), -slices.Compare(a.id[:], b.id[:]))
	})
	err = m.write(ctx, func(w *writing) error {
		changes.New = 0
		var r int64
		if relay != "" {
			if r, err = w.relay(relay); err != nil {
				return err
			}
		}
		for _, o := range took {
			w.put(r, o)
		}
		return nil
	}, &changes)
	return changes, err
}

// readable opens events of which only the id is not known here, and counts what
// is refused. A known one is not opened again: its id says what it is.
func readable(ctx context.Context, m *Copy, events []*nostr.Event) (took []*opened, rejected int, err error) {
	var fresh []*nostr.Event
	err = m.read(ctx, func(tx *sealedfile.Tx) error {
		took, rejected, fresh = nil, 0, nil
		for _, ev := range events {
			if ev == nil {
				rejected++
				continue
			}
			o, known, err := isHere(m, tx, ev)
			switch {
			case err != nil:
				return err
			case known:
				took = append(took, o)
			default:
				fresh = append(fresh, ev)
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for _, o := range openAll(m, fresh) {
		if o == nil {
			rejected++
		} else {
			took = append(took, o)
		}
	}
	return took, rejected, nil
}

// isHere returns an event that is here. It is believed only if its id is that of
// its content, so that nobody gets a place among a relay's events by naming one.
func isHere(m *Copy, tx *sealedfile.Tx, ev *nostr.Event) (*opened, bool, error) {
	id, ok := decodeID(ev.ID)
	if !ok {
		return nil, false, nil
	}
	o, found := &opened{signed: ev}, false
	for r := range tx.Rows("SELECT "+eventColumns+", t.text, w.expires FROM events e JOIN places p ON p.a = e.a LEFT JOIN texts t ON t.n = e.n LEFT JOIN raws w ON w.n = e.n WHERE e.id = ?", id[:]) {
		var err error
		if o.event, err = m.seal.readEvent(r); err == nil && o.state == withText && !r.Null(11) {
			o.text, err = textOf(o.event, r.Raw(11))
		}
		found = r.Int(12) >= 0 && (o.state != withText || !r.Null(11)) // the text of what has expired is gone
		tx.Fail(err)
	}
	return o, found && tx.Err() == nil && wire.ID(ev) == ev.ID, tx.Err()
}

// Holds returns which events a relay was last seen to have, superseded ones that
// it still had among them: what is reconciled with it. What a clock that was ahead
// dropped is left out: it comes again.
func (m *Copy) Holds(ctx context.Context, relay string) ([]nip77.Item, error) {
	var items []nip77.Item
	err := m.read(ctx, func(tx *sealedfile.Tx) error {
		items = nil
		for r := range tx.Rows("SELECT e.id, e.created FROM held h JOIN events e ON e.n = h.n LEFT JOIN raws w ON w.n = e.n WHERE h.r = (SELECT r FROM relays WHERE url = ?) AND coalesce(w.expires, 0) >= ?", canonical(relay), -m.now().Unix()) {
			it := nip77.Item{CreatedAt: r.Int(1)}
			if copy(it.ID[:], r.Raw(0)) != len(it.ID) {
				return damaged("an event")
			}
			items = append(items, it)
		}
		return nil
	})
	return items, err
}

// Lost notes that a relay has events no more. Of what no relay has the newest of each
// address stays (Behind).
func (m *Copy) Lost(ctx context.Context, relay string, ids [][32]byte) (Changes, error) {
	var changes Changes
	err := m.write(ctx, func(w *writing) error {
		r, err := w.relay(relay)
		if err != nil {
			return err
		}
		for _, id := range ids {
			w.lost(r, id)
		}
		return nil
	}, &changes)
	return changes, err
}

// Forget drops a relay that is not asked any more, with its mark. Heads that only it
// has stay.
func (m *Copy) Forget(ctx context.Context, relay string) (Changes, error) {
	var changes Changes
	err := m.write(ctx, func(w *writing) error {
		r := w.relayIf(relay)
		for row := range w.tx.Rows("SELECT DISTINCT e.a FROM held h JOIN events e ON e.n = h.n WHERE h.r = ?", r) {
			w.touched[row.Int(0)] = true
		}
		w.tx.Exec("DELETE FROM held WHERE r = ?", r)
		return w.tx.Exec("DELETE FROM relays WHERE r = ?", r)
	}, &changes)
	return changes, err
}

// canonical is a relay's URL in the form in which equal ones are equal text.
func canonical(relay string) string {
	if c, err := nipae.CanonicalRelayURL(relay); err == nil {
		return c
	}
	return relay
}

// hexID is how an id is written.
func hexID(id [32]byte) string { return hex.EncodeToString(id[:]) }
