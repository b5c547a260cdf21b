package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// Lookup asks the relays that are written to, and those of the agent's list, for
// events of the agent by their ids. It returns for each id that some relay has the
// URLs of those that have it, and whether every relay answered.
func (m *Reader) Lookup(ctx context.Context, ids []string) (found map[string][]string, whole bool, err error) {
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	found = map[string][]string{}
	all := m.c.AskEachSoon(ctx, m.c.WriteTargets(), nostr.Filter{IDs: ids})
	for _, r := range all {
		for _, ev := range r.Events {
			if ev.PubKey == m.agent {
				found[ev.ID] = append(found[ev.ID], r.Status.URL)
			}
		}
	}
	a := client.Unite(all, 0)
	if a.AllFailed() {
		return found, false, client.NoRelay(a.Relays)
	}
	return found, !a.Partial(), nil
}

// newPage is how many superseded events are asked for at a time that are newer
// than an instant.
const newPage = 100

// Since returns the engrams of the pair that are not older than a time, in Unix
// seconds, and whether every relay answered in full: heads, and behind time 0 also
// superseded ones of relays that show them. What cannot be read is left out.
func (r *Reader) Since(ctx context.Context, at int64) ([]nipae.Engram, bool, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	filter := r.all()
	since := nostr.Timestamp(at)
	filter.Since = &since
	past := make(chan pastSince, 1)
	go func() { past <- r.pastSince(ctx, since) }()
	a, err := r.c.AskThoseSoon(ctx, r.c.WriteTargets(), filter)
	superseded := <-past
	var all []nipae.Engram
	for _, ev := range slices.Concat(a.Events, superseded.events) {
		if e, openErr := nipae.Open(r.key(), r.agent, r.owner, ev); openErr == nil {
			all = append(all, e)
		}
	}
	return all, err == nil && !a.Partial() && superseded.whole, err
}

// pastSince are superseded events that are not older than an instant.
type pastSince struct {
	events []*nostr.Event
	whole  bool // every relay that keeps some showed all
}

func (r *Reader) pastSince(ctx context.Context, at nostr.Timestamp) pastSince {
	out := pastSince{whole: true}
	if at <= 0 {
		return out
	}
	limits := r.c.Options().Limits
	limits.Page = newPage
	col := client.NewCollector()
	filter := nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{r.agent}}
	type answer struct {
		events []*nostr.Event
		err    error
	}
	ask := client.Hurry(ctx, r.c, r.c.WriteTargets(), func(ctx context.Context, t client.Target) answer {
		p := client.NewPager(col, filter, limits)
		for p.More() {
			if err := r.c.HTTP().HistoryPage(ctx, t, p); err != nil {
				return answer{p.Events, err}
			}
			if k := len(p.Events); k > 0 && p.Events[k-1].CreatedAt < at {
				break
			}
		}
		return answer{p.Events, nil}
	}, func(a *answer) *error { return &a.err })
	for _, a := range client.Each(ctx, r.c.WriteTargets(), ask, func(_ client.Target, err error) answer { return answer{err: err} }) {
		out.whole = out.whole && (a.err == nil || errors.Is(a.err, client.ErrNoHistory))
		for _, ev := range a.events {
			if ev.CreatedAt >= at {
				out.events = append(out.events, ev)
			}
		}
	}
	return out
}
