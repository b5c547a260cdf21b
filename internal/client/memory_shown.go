package client

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// Shown is what one relay shows of a pair: everything, heads and superseded
// events.
type Shown struct {
	URL         string
	Heads, Past []*nostr.Event // verified, of the pair, distinct
	// Whole says that it gave all heads that it has, and Kept all superseded
	// events. Without says that it keeps none that it shows, or is not asked for
	// them.
	Whole, Kept, Without bool
	Err                  error    // why it did not answer; a relay without history has answered
	Promise              *History // nil: it promises to keep none
	Status               RelayStatus
}

// Shows asks every relay apart for all that it has of the pair, and for what it
// promises to keep. known, if it is not nil, says of ids that their events were
// verified before: these signatures are not checked again. The error is
// ErrNoRelay when no relay answered, with what each said.
func (m *Memory) Shows(ctx context.Context, known func(id string) bool) ([]Shown, error) {
	ctx, cancel := m.c.operation(ctx)
	defer cancel()
	col := newCollector()
	col.verified = known
	start := time.Now()
	late := lateAnswer(start)
	all := each(ctx, m.c.relays(),
		func(ctx context.Context, t target) Shown { return m.shownBy(ctx, t, col, start) },
		func(t target, err error) Shown {
			status := late(t, err).status
			return Shown{URL: t.url, Err: err, Status: status}
		})
	var relays []RelayStatus
	for _, s := range all {
		relays = append(relays, s.Status)
	}
	if answered(relays) == 0 {
		return all, noRelay(relays)
	}
	return all, nil
}

func (m *Memory) shownBy(ctx context.Context, t target, col *collector, start time.Time) Shown {
	asking, done := part(ctx, 0.5)
	heads := m.c.askRelay(asking, t, m.all(), col, start)
	done()
	pages := newPager(col, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{m.agent}}, m.c.o.Limits)
	err := m.c.history(ctx, t, pages)
	if heads.status.Err == nil && hangsUp(err) {
		err = errNoHTTP
	}
	k := kept{heads: heads, past: pages.answer(t, err, start)}
	s := Shown{URL: t.url, Heads: heads.events, Status: k.status(), Whole: heads.status.Err == nil && heads.status.Complete, Kept: k.past.status.Err == nil && k.past.status.Complete}
	s.Without = errors.Is(k.past.status.Err, ErrNoHistory)
	s.Past = slices.DeleteFunc(slices.Clone(k.past.events), func(ev *nostr.Event) bool { return ev.Tags.FindWithValue("p", m.owner) == nil })
	if s.Status.failed() {
		s.Err = s.Status.Err
	}
	if s.Whole && s.Kept {
		if info, err := m.c.info(ctx, t); err == nil {
			s.Promise = info.History
		}
	}
	return s
}
