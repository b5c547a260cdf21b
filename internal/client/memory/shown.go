package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
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
	Err                  error           // why it did not answer; a relay without history has answered
	Promise              *client.History // nil: it promises to keep none
	Status               client.RelayStatus
}

// Shows asks every relay apart for all that it has of the pair, and for what it
// promises to keep. known, if it is not nil, says of ids that their events were
// verified before: these signatures are not checked again. The error is
// ErrNoRelay when no relay answered, with what each said.
func (r *Reader) Shows(ctx context.Context, known func(id string) bool) ([]Shown, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	col := client.NewCollector()
	col.Verified = known
	start := time.Now()
	late := client.LateAnswer(start)
	all := client.Each(ctx, r.c.Targets(),
		func(ctx context.Context, t client.Target) Shown { return r.shownBy(ctx, t, col, start) },
		func(t client.Target, err error) Shown {
			status := late(t, err).Status
			return Shown{URL: t.URL, Err: err, Status: status}
		})
	var relays []client.RelayStatus
	for _, s := range all {
		relays = append(relays, s.Status)
	}
	if client.Answered(relays) == 0 {
		return all, client.NoRelay(relays)
	}
	return all, nil
}

func (r *Reader) shownBy(ctx context.Context, t client.Target, col *client.Collector, start time.Time) Shown {
	asking, done := client.Part(ctx, 0.5)
	heads := client.AskRelay(asking, r.c, t, r.all(), col, start)
	done()
	pages := client.NewPager(col, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{r.agent}}, r.c.Options().Limits)
	err := r.c.HTTP().History(ctx, t, pages)
	if heads.Status.Err == nil && client.HangsUp(err) {
		err = client.ErrNoHTTP
	}
	k := kept{heads: heads, past: pages.Answer(t, err, start)}
	s := Shown{URL: t.URL, Heads: heads.Events, Status: k.status(), Whole: heads.Status.Err == nil && heads.Status.Complete, Kept: k.past.Status.Err == nil && k.past.Status.Complete}
	s.Without = errors.Is(k.past.Status.Err, client.ErrNoHistory)
	s.Past = slices.DeleteFunc(slices.Clone(k.past.Events), func(ev *nostr.Event) bool { return ev.Tags.FindWithValue("p", r.owner) == nil })
	if s.Status.Failed() {
		s.Err = s.Status.Err
	}
	if s.Whole && s.Kept {
		if info, err := client.InfoOf(ctx, r.c, t); err == nil {
			s.Promise = info.History
		}
	}
	return s
}
