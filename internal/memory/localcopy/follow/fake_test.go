package follow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/memory/localcopy"
	"engramd/nips/nip77"
)

// everything is the filter of these tests: a fake relay has nothing else.
var everything = nostr.Filter{Kinds: []int{30174}}

// version is an event at an address; nobody signed it.
func version(address string, at int64) *nostr.Event {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", address, at))
	return &nostr.Event{ID: hex.EncodeToString(sum[:]), Kind: 30174, CreatedAt: nostr.Timestamp(at), Tags: nostr.Tags{{"d", address}}}
}

// fakeRelay is a source that does what a test says.
type fakeRelay struct {
	name string

	mu       sync.Mutex
	has      []*nostr.Event
	noSync   error                      // of Reconcile
	noCount  error                      // of Count
	fails    error                      // of everything
	noLive   error                      // of Live
	hangs    bool                       // until ctx ends
	cut      bool                       // its pages are not all
	ends     int                        // its pages fail after so many events, if that is not 0
	unlisted func(*nostr.Event) bool    // not listed when it reconciles
	conjured [][32]byte                 // listed, and never given
	damaged  []*nostr.Event             // counted, and not given
	miscount int64                      // added to what it counts
	asked    map[string]int             // how often, by kind of question
	filters  []nostr.Filter             // of pages
	live     map[chan *nostr.Event]bool // open questions
	meddle   func(what string)          // called before a question is answered
}

func newRelay(name string, has ...*nostr.Event) *fakeRelay {
	return &fakeRelay{name: name, has: has, asked: map[string]int{}, live: map[chan *nostr.Event]bool{}}
}

func (r *fakeRelay) URL() string       { return "wss://" + r.name }
func (r *fakeRelay) Canonical() string { return "wss://" + r.name }

// put replaces what is older, as relays do, and tells who listens.
func (r *fakeRelay) put(ev *nostr.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.has = slices.DeleteFunc(r.has, func(old *nostr.Event) bool { return old.Tags.GetD() == ev.Tags.GetD() })
	r.has = append(r.has, ev)
	for c := range r.live {
		c <- ev
	}
}

func (r *fakeRelay) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// begin counts a question, and hangs or fails.
func (r *fakeRelay) begin(ctx context.Context, what string) error {
	r.mu.Lock()
	r.asked[what]++
	hangs, fails, meddle := r.hangs, r.fails, r.meddle
	r.mu.Unlock()
	if meddle != nil {
		meddle(what)
	}
	if hangs {
		<-ctx.Done()
		return fmt.Errorf("%w: it hangs", client.ErrTimeout)
	}
	return fails
}

func (r *fakeRelay) questions(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[what]
}

func (r *fakeRelay) matching(f nostr.Filter) (out []*nostr.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ev := range r.has {
		if f.Matches(ev) {
			out = append(out, ev)
		}
	}
	return out
}

func (r *fakeRelay) Pages(ctx context.Context, f nostr.Filter, take func(*nostr.Event) error) (client.RelayStatus, error) {
	if err := r.begin(ctx, "pages"); err != nil {
		return client.RelayStatus{}, err
	}
	r.set(func() { r.filters = append(r.filters, f) })
	for i, ev := range r.matching(f) {
		if r.ends > 0 && i == r.ends {
			return client.RelayStatus{}, client.ErrMisbehaved
		}
		if err := take(ev); err != nil {
			return client.RelayStatus{}, err
		}
	}
	return client.RelayStatus{Complete: !r.cut && len(r.damaged) == 0}, nil
}

func (r *fakeRelay) Reconcile(ctx context.Context, f nostr.Filter, items []nip77.Item) (have, need [][32]byte, err error) {
	if err := r.begin(ctx, "reconcile"); err != nil {
		return nil, nil, err
	}
	if r.noSync != nil {
		return nil, nil, r.noSync
	}
	listed := map[[32]byte]bool{}
	for _, ev := range r.matching(f) {
		listed[idOf(ev)] = r.unlisted == nil || !r.unlisted(ev)
	}
	for _, id := range r.conjured {
		listed[id] = true
	}
	for _, it := range items {
		if !listed[it.ID] {
			have = append(have, it.ID)
		}
		delete(listed, it.ID)
	}
	for id, is := range listed {
		if is {
			need = append(need, id)
		}
	}
	return have, need, nil
}

func (r *fakeRelay) Fetch(ctx context.Context, f nostr.Filter, ids [][32]byte, take func(*nostr.Event) error) (missing [][32]byte, err error) {
	if err := r.begin(ctx, "fetch"); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(r.damaged, func(ev *nostr.Event) bool { return slices.Contains(ids, idOf(ev)) }) {
		return nil, &client.RefusalError{Message: "error: damaged"}
	}
	missing = slices.Clone(ids)
	for _, ev := range r.matching(f) {
		if i := slices.Index(missing, idOf(ev)); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
			if err := take(ev); err != nil {
				return nil, err
			}
		}
	}
	return missing, nil
}

func (r *fakeRelay) Count(ctx context.Context, f nostr.Filter) (int64, error) {
	if err := r.begin(ctx, "count"); err != nil {
		return 0, err
	}
	return int64(len(r.matching(f))+len(r.damaged)) + r.miscount, r.noCount
}

func (r *fakeRelay) Live(ctx context.Context, _ nostr.Filter, take func(*nostr.Event) error, stored func()) error {
	if err := r.begin(ctx, "live"); err != nil {
		return err
	}
	if r.noLive != nil {
		return r.noLive
	}
	c := make(chan *nostr.Event, 5000)
	r.set(func() { r.live[c] = true })
	defer r.set(func() { delete(r.live, c) })
	stored()
	for {
		select {
		case ev := <-c:
			if ev == nil {
				return client.ErrTimeout
			}
			if err := take(ev); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fakeCopy is a store of nothing but ids.
type fakeCopy struct {
	mu     sync.Mutex
	now    func() time.Time
	held   map[string]map[[32]byte]*nostr.Event
	marks  map[string]localcopy.Mark
	lives  int64
	broken error
	forgot []string
	puts   int
}

func newCopy() *fakeCopy {
	return &fakeCopy{now: time.Now, held: map[string]map[[32]byte]*nostr.Event{}, marks: map[string]localcopy.Mark{}}
}

// useless is what the copy does not keep.
func useless(ev *nostr.Event) bool { return ev.Tags.GetD() == "useless" }

func (c *fakeCopy) Put(_ context.Context, relay string, events []*nostr.Event) (ch localcopy.Changes, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.puts++
	for _, ev := range events {
		if useless(ev) {
			ch.Rejected++
			continue
		}
		if c.held[relay] == nil {
			c.held[relay] = map[[32]byte]*nostr.Event{}
		}
		maps.DeleteFunc(c.held[relay], func(_ [32]byte, old *nostr.Event) bool {
			return old.Tags.GetD() == ev.Tags.GetD() && old.CreatedAt < ev.CreatedAt
		})
		c.held[relay][idOf(ev)] = ev
	}
	return ch, c.broken
}

func (c *fakeCopy) Holds(_ context.Context, relay string) (out []nip77.Item, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, ev := range c.held[relay] {
		out = append(out, nip77.Item{CreatedAt: int64(ev.CreatedAt), ID: id})
	}
	return out, c.broken
}

func (c *fakeCopy) Lost(_ context.Context, relay string, ids [][32]byte) (ch localcopy.Changes, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		delete(c.held[relay], id)
	}
	return ch, c.broken
}

func (c *fakeCopy) Bare(context.Context, string) ([][32]byte, error) { return nil, c.broken }

func (c *fakeCopy) Mark(_ context.Context, relay string) (localcopy.Mark, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.marks[relay], c.broken
}

func (c *fakeCopy) Begin(_ context.Context, relay string) (localcopy.Mark, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.marks[relay]
	if m.Life == 0 {
		c.lives++
		m.Life = c.lives
		c.marks[relay] = m
	}
	return m, c.broken
}

func (c *fakeCopy) SetMark(_ context.Context, relay string, m localcopy.Mark) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Life != 0 && m.Life != c.marks[relay].Life {
		return localcopy.ErrForgotten
	}
	c.marks[relay] = m
	return c.broken
}

func (c *fakeCopy) Relays(context.Context) (out []string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for relay := range c.marks {
		out = append(out, relay)
	}
	return out, c.broken
}

func (c *fakeCopy) Forget(_ context.Context, relay string) (ch localcopy.Changes, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.marks, relay)
	delete(c.held, relay)
	c.forgot = append(c.forgot, relay)
	return ch, c.broken
}

func (c *fakeCopy) Freshness(_ context.Context, relays []string) (f localcopy.Freshness, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, relay := range relays {
		m := c.marks[relay]
		f.Stale = f.Stale || c.now().Sub(m.Confirmed) > time.Minute
		f.Unfinished = f.Unfinished || !m.Complete
	}
	return f, c.broken
}

func (c *fakeCopy) mark(r *fakeRelay) localcopy.Mark {
	m, _ := c.Mark(context.Background(), r.Canonical())
	return m
}

// alike fails unless the copy has from a relay what that has, but what is of no
// use.
func (c *fakeCopy) alike(t testing.TB, r *fakeRelay) {
	t.Helper()
	var want [][32]byte
	for _, ev := range r.matching(everything) {
		if !useless(ev) {
			want = append(want, idOf(ev))
		}
	}
	items, _ := c.Holds(t.Context(), r.Canonical())
	var got [][32]byte
	for _, it := range items {
		got = append(got, it.ID)
	}
	order := func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if !slices.Equal(got, want) {
		t.Errorf("%s: the copy has %d events, the relay %d", r.name, len(got), len(want))
	}
}

// follower follows fake relays, all that there are.
func follower(c *fakeCopy, relays ...*fakeRelay) *Follower {
	return New(Options{Filter: everything, Store: c, Jitter: func() float64 { return 1 }, Sources: func() (out []Source, all bool) {
		for _, r := range relays {
			out = append(out, r)
		}
		return out, true
	}})
}

// caught catches up and returns what became of the only relay.
func caught(t testing.TB, f *Follower, depth Depth) Outcome {
	t.Helper()
	out, err := f.CatchUp(t.Context(), Ask{Depth: depth})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}
