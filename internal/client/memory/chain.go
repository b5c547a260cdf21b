package memory

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// links returns the log that the pair's writes go into, nil for none.
func (m *Memory) links() client.Links {
	open := m.c.Options().Links
	if open == nil || m.unchained || !m.Writable() {
		return nil
	}
	return open(m.c, m.owner)
}

// Unchained returns the memory for writes that are in no log: its own units.
func (m *Memory) Unchained() *Memory {
	out := *m
	out.unchained = true
	return &out
}

// ready begins what makes the log ready for a write. wait returns when it is, or
// has used its part of the time; end gives it up.
func (m *Memory) ready(ctx context.Context) (wait, end func()) {
	links := m.links()
	if links == nil {
		return func() {}, func() {}
	}
	ctx, cancel := client.Part(ctx, 0.4)
	done := make(chan struct{})
	go func() {
		defer close(done)
		links.Ready(ctx)
	}()
	wait = func() { <-done }
	return wait, func() { cancel(); wait() }
}

// Draft is a body that is to be sealed, for a time in Unix seconds.
type Draft struct {
	Body    nipae.Body
	At      int64
	Expires int64            // Unix seconds; 0 for never
	Was     int64            // when the version expires whose text it is: the text says so, and claims nothing
	was     int64            // when the version before expires
	along   []writerlog.Hash // ids of versions that were to stay longer, and go with it
}

// sealAll seals drafts: in the writer's log, all in one step of it, unless there
// is none. A body that is too large for a link goes without. What another program
// copied, or an older version said of its place, is never kept. Drafts become what they
// are signed as.
func (m *Memory) sealAll(ctx context.Context, drafts []Draft) ([]*nostr.Event, error) {
	for i, d := range drafts {
		err := m.counts(d.Body.Slug())
		if err == nil {
			drafts[i], err = d.dated()
		}
		if err != nil {
			return nil, err
		}
	}
	events := make([]*nostr.Event, len(drafts))
	proposing := slices.ContainsFunc(drafts, func(d Draft) bool { return strings.HasPrefix(string(d.Body.Slug()), nipae.ProposalPrefix) })
	if links := m.links(); links != nil && !proposing { // a proposal is no memory
		took, err := links.Take(ctx, len(drafts), func(i int, l writerlog.Link) (out client.Sealed, err error) {
			l.T = drafts[i].At
			body, err := drafts[i].Body.WithMember(writerlog.Member, l.JSON())
			if err != nil {
				return out, err
			}
			out.Event, err = m.sealAt(body, l.T, drafts[i].Expires)
			if errors.Is(err, client.ErrTooLarge) {
				return client.Sealed{}, nil
			}
			_, text := body.Text()
			events[i], out.Tombstone = out.Event, !text
			return out, err
		})
		if err != nil {
			return nil, err
		}
		if !took {
			clear(events)
		}
	}
	for i, d := range drafts {
		if events[i] != nil {
			continue
		}
		var err error
		if events[i], err = m.sealAt(d.Body.WithoutMember(writerlog.Member), d.At, d.Expires); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// sent notes what became of an event at the relays.
func (m *Memory) sent(ctx context.Context, ev *nostr.Event, published []client.PublishStatus) {
	if links := m.links(); links != nil {
		client.Settle(ctx, links, ev, published)
	}
}

// Lookup asks the relays that are written to, and those of the agent's list, for
// events of the agent by their ids. It returns for each id that some relay has the
// URLs of those that have it, and whether every relay answered.
func (m *reader) Lookup(ctx context.Context, ids []string) (found map[string][]string, whole bool, err error) {
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

// Found is what a look-up of an event says.
type Found struct {
	There bool     // a relay has it, or had it before another one took its place
	At    []string // URLs of the relays that have it
	Sure  bool     // so it is; what no relay shows, none can have had and dropped since
}

// signedWithin is by how much an event may have been signed before it was noted, in seconds.
const signedWithin = 15 * 60

// Has looks for an event of the slug that was signed at a time, in Unix seconds, or later.
// The error is that of Lookup, and client.ErrPartial where it is not known.
func (m *Memory) Has(ctx context.Context, slug nipae.Slug, id string, at int64) (Found, error) {
	found, whole, err := m.Lookup(ctx, []string{id})
	switch at := found[id]; {
	case err != nil:
		return Found{}, err
	case len(at) > 0:
		return Found{There: true, At: at, Sure: true}, nil
	case !whole:
		return Found{}, client.ErrPartial
	}
	versions, status, err := m.Log(ctx, slug) // without an answer it is in doubt
	there := slices.ContainsFunc(versions, func(v Version) bool { return v.ID == id })
	known := (err == nil || errors.Is(err, client.ErrNotFound)) && !status.Partial
	return Found{There: there, Sure: there || known && keep(ctx, m, versions, status.Relays, at-signedWithin)}, nil
}

// keep reports whether every relay that was asked for versions shows its history, and
// promises to keep what was written since a time, whatever has come after it.
func keep(ctx context.Context, m *Memory, versions []Version, relays []client.RelayStatus, since int64) bool {
	came := map[string]int64{}
	for _, v := range versions {
		for _, url := range v.Relays {
			if v.CreatedAt >= since {
				came[url]++
			}
		}
	}
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	keeps := client.Each(ctx, m.c.Targets(), func(ctx context.Context, t client.Target) bool {
		asked := slices.ContainsFunc(relays, func(r client.RelayStatus) bool { return r.URL == t.URL && r.Err == nil })
		if !asked {
			return false
		}
		info, err := client.InfoOf(ctx, m.c, t)
		p := info.History
		return err == nil && p != nil && came[t.URL] < p.Versions && (p.Days == 0 || since >= m.c.Now()-p.Days*24*60*60)
	}, func(client.Target, error) bool { return false })
	return !slices.Contains(keeps, false)
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

func (r *reader) pastSince(ctx context.Context, at nostr.Timestamp) pastSince {
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
