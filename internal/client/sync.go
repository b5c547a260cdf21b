package client

import (
	"cmp"
	"context"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// SyncReport is what Sync did.
type SyncReport struct {
	Heads   int // records, core and tombstones included
	Expired int // heads that were not sent because they have expired (NIP-40)
	Relays  []SyncRelay
	Status  Status // of the reading
}

// SyncRelay is what Sync did at one relay.
type SyncRelay struct {
	URL     string
	Had     int // heads it had before
	Sent    int // heads it took
	Refused int // heads it did not take
	// Err is why the relay was left out, or why the first one was not taken.
	Err error
}

// Sync sends the head of every address, tombstones and core too, to the relays
// that lack it, as it was signed: who moves to other relays, or had one down,
// makes them all alike. Either party may do it. Relays that did not answer the
// first question are left out. Errors are as of ListAll; what was not taken is
// in the report.
func (m *Memory) Sync(ctx context.Context) (SyncReport, error) {
	ctx, cancel := m.c.operation(ctx)
	defer cancel()
	reading, done := part(ctx, 0.5)
	all := m.c.askEach(reading, m.c.relays(), m.all())
	done()
	a := unite(all, 0)
	if a.AllFailed() {
		return SyncReport{Status: m.status(a.Relays, 0)}, noRelay(a.Relays)
	}
	l, status, err := m.judged(nipae.SelectHeads(m.key(), m.agent, m.owner, a.Events), a.Relays)
	report := SyncReport{Status: status}
	if err != nil {
		return report, err
	}
	heads := everyHead(l)
	report.Heads = len(heads)
	heads = slices.DeleteFunc(heads, func(ev *nostr.Event) bool {
		at, expires := nipae.Expiration(ev)
		return expires && at <= m.c.now()
	})
	report.Expired = report.Heads - len(heads)
	// Records that refer to others come after them only by chance. Old ones come
	// first, so that a sync that is cut off leaves no gap in time.
	newestFirst(heads)
	slices.Reverse(heads)
	has := map[string]map[string]bool{}
	for _, r := range all {
		ids := map[string]bool{}
		for _, ev := range r.events {
			ids[ev.ID] = true
		}
		has[r.status.URL] = ids
	}
	report.Relays = m.syncEach(ctx, heads, all, has)
	return report, nil
}

// syncEach brings all relays up to date in parallel.
func (m *Memory) syncEach(ctx context.Context, heads []*nostr.Event, all []relayAnswer, has map[string]map[string]bool) []SyncRelay {
	failed := map[string]error{}
	for _, r := range all {
		if r.status.failed() {
			failed[r.status.URL] = r.status.Err
		}
	}
	return each(ctx, m.c.relays(),
		func(ctx context.Context, t target) SyncRelay {
			report := SyncRelay{URL: t.url, Err: failed[t.url]}
			var lacking []*nostr.Event
			for _, ev := range heads {
				if has[t.url][ev.ID] {
					report.Had++
				} else {
					lacking = append(lacking, ev)
				}
			}
			if report.Err == nil {
				m.c.syncTo(ctx, t, lacking, &report)
			}
			return report
		},
		func(t target, err error) SyncRelay { return SyncRelay{URL: t.url, Err: err} })
}

// syncTo sends events to one relay, several at a time. One that it has in a newer
// version by now is no failure.
func (c *Client) syncTo(ctx context.Context, t target, events []*nostr.Event, report *SyncRelay) {
	rows := make([][]*nostr.Event, len(events))
	for i, ev := range events {
		rows[i] = []*nostr.Event{ev}
	}
	to := &Peer{c: c, t: t}
	err := to.PublishAll(ctx, rows, func(_ *nostr.Event, s PublishStatus) {
		switch {
		case s.Accepted:
			report.Sent++
		case s.Superseded:
			report.Had++
		default:
			report.Refused++
			report.Err = cmp.Or(report.Err, s.Err)
		}
	})
	report.Err = cmp.Or(report.Err, err)
}
