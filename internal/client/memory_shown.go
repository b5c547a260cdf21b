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
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	col := NewCollector()
	col.verified = known
	start := time.Now()
	late := LateAnswer(start)
	all := Each(ctx, m.c.Targets(),
		func(ctx context.Context, t Target) Shown { return m.shownBy(ctx, t, col, start) },
		func(t Target, err error) Shown {
			status := late(t, err).Status
			return Shown{URL: t.URL, Err: err, Status: status}
		})
	var relays []RelayStatus
	for _, s := range all {
		relays = append(relays, s.Status)
	}
	if Answered(relays) == 0 {
		return all, NoRelay(relays)
	}
	return all, nil
}

func (m *Memory) shownBy(ctx context.Context, t Target, col *Collector, start time.Time) Shown {
	asking, done := Part(ctx, 0.5)
	heads := m.c.AskRelay(asking, t, m.all(), col, start)
	done()
	pages := NewPager(col, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{m.agent}}, m.c.o.Limits)
	err := m.c.HTTP().History(ctx, t, pages)
	if heads.Status.Err == nil && HangsUp(err) {
		err = ErrNoHTTP
	}
	k := kept{heads: heads, past: pages.Answer(t, err, start)}
	s := Shown{URL: t.URL, Heads: heads.Events, Status: k.status(), Whole: heads.Status.Err == nil && heads.Status.Complete, Kept: k.past.Status.Err == nil && k.past.Status.Complete}
	s.Without = errors.Is(k.past.Status.Err, ErrNoHistory)
	s.Past = slices.DeleteFunc(slices.Clone(k.past.Events), func(ev *nostr.Event) bool { return ev.Tags.FindWithValue("p", m.owner) == nil })
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
