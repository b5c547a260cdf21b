package events_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestWhatWaitsSharesOneCommit(t *testing.T) {
	seen := &counter{}
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Observe = seen })
	release := events.HoldWriter(s)
	var last store.Pending
	for i := range int64(20) {
		p, err := s.Begin(t.Context(), alice.Note(i, "x"), store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last = p
	}
	if n := s.QueueLen(); n != 20 {
		t.Errorf("%d events wait, want 20", n)
	}
	release()
	last.Wait()
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if n := len(seen.commits); n != 1 || seen.commits[0] != 20 {
		t.Errorf("commits of %v events, want one of 20", seen.commits)
	}
	if seen.queue != 0 {
		t.Errorf("queue depth ends at %d", seen.queue)
	}
}

func TestBatchesAreBounded(t *testing.T) {
	seen := &counter{}
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Observe, o.MaxBatch = seen, 8 })
	release := events.HoldWriter(s)
	var last store.Pending
	for i := range int64(16) {
		last, _ = s.Begin(t.Context(), alice.Note(i, "x"), store.PutOptions{})
	}
	release()
	last.Wait()
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for _, n := range seen.commits {
		if n > 8 {
			t.Errorf("a commit of %d events", n)
		}
	}
}

// One member of a batch that fails is undone, and the others are not: one that
// fails half-way, one that panics half-way, and one that is refused half-way.
func TestOneFailureSpoilsNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		ev    *nostr.Event
		quota store.Quota
		want  store.Outcome
		say   string
	}{
		"error": {alice.Note(1, "bad", nostr.Tag{"t", "bad"}), store.Quota{}, store.Failed, "bind"},
		"panic": {alice.Note(1, "bad", nostr.Tag{"t", "bad"}), store.Quota{}, store.Failed, "panic"},
		"quota": {alice.Engram(bob, 1, "mem/x"), store.Quota{Events: 3}, store.Refused, ""}, // the fourth of Alice's
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Quota = c.quota })
			release := events.HoldWriter(s)
			var pending []store.Pending
			for _, ev := range []*nostr.Event{
				alice.Note(0, "a"), alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 1, "mem/a"), c.ev, bob.Note(0, "b"),
			} {
				how := ""
				if ev == c.ev {
					how = name
				}
				p, err := events.BeginBroken(t.Context(), s, ev, how)
				if err != nil {
					t.Fatal(err)
				}
				pending = append(pending, p)
			}
			release()
			for i, p := range pending {
				r := p.Wait()
				switch {
				case i != 3 && !r.Outcome.OK():
					t.Errorf("another: %+v", r)
				case i != 3:
				case r.Outcome != c.want, (r.Err == nil) != (c.say == ""), r.Err != nil && !strings.Contains(r.Err.Error(), c.say):
					t.Errorf("the one that fails: %+v", r)
				}
			}
			if n, tags, past := rows(t, s, "events"), rows(t, s, "tags WHERE name = 't'"), rows(t, s, "history"); n != 3 || tags != 0 || past != 1 {
				t.Errorf("%d events, %d tags, %d versions", n, tags, past)
			}
			wantWhole(t, s)
		})
	}
}

// The store's own work that fails leaves nothing behind either.
func TestFailedWorkIsUndone(t *testing.T) {
	s := storetest.MustOpen(t)
	for name, fail := range map[string]func() error{
		"error": func() error { return events.FailOnWriter(s) }, "panic": func() error { return events.PanicOnWriter(s) },
	} {
		if err := fail(); err == nil || !strings.Contains(err.Error(), "on purpose") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := rows(t, s, "meta WHERE key = 'test'"); n != 0 {
		t.Error("it left something behind")
	}
	put(t, s, alice.Note(0, "x"), store.Stored)
}

// When COMMIT fails, nobody of the batch is told that his event is kept.
func TestFailedCommitFailsAll(t *testing.T) {
	s := storetest.MustOpen(t)
	put(t, s, alice.Note(0, "before"), store.Stored)
	allow := events.BreakCommits(s)
	release := events.HoldWriter(s)
	var pending []store.Pending
	for i := range int64(5) {
		p, err := s.Begin(t.Context(), alice.Note(i+1, "x"), store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
	}
	release()
	for _, p := range pending {
		if r := p.Wait(); r.Outcome != store.Failed || r.Err == nil || r.Message() != "" {
			t.Errorf("%+v", r)
		}
	}
	allow()
	if n := rows(t, s, "events"); n != 1 {
		t.Errorf("%d events after the failed commit, want 1", n)
	}
	r := put(t, s, alice.Note(1, "x"), store.Stored)
	if r.Seq != 2 || s.LastSeq() != 2 {
		t.Errorf("seq %d (LastSeq %d), want 2: what failed has given its numbers back", r.Seq, s.LastSeq())
	}
	wantWhole(t, s)
}

func TestWritesAfterCloseFail(t *testing.T) {
	s, err := sqlite.Open(t.Context(), storetest.Options(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if r := s.Put(t.Context(), alice.Note(0, "x"), store.PutOptions{}); r.Outcome != store.Failed || !errors.Is(r.Err, store.ErrClosed) {
		t.Errorf("write: %+v", r)
	}
	if _, err := events.OnReader(t.Context(), s, "SELECT 1"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if err := s.Backup(t.Context(), t.TempDir()+"/b"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("backup: %v", err)
	}
}

// Close commits and answers what waits, and what it leaves on disk is one file.
func TestCloseDrainsTheQueue(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	release := events.HoldWriter(s)
	var pending []store.Pending
	for i := range int64(50) {
		p, err := s.Begin(t.Context(), alice.Note(i, "x"), store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
	}
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	if err := events.WaitClosing(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	release()
	for _, p := range pending {
		if r := p.Wait(); r.Outcome != store.Stored {
			t.Errorf("%+v", r)
		}
	}
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	again := storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
	if n := rows(t, again, "events"); n != 50 {
		t.Errorf("%d events after opening again", n)
	}
}

// A full queue holds its callers back until there is room or they give up.
func TestFullQueueBlocksUntilContextEnds(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.MaxQueue = 2 })
	release := events.HoldWriter(s)
	for i := range int64(2) {
		if _, err := s.Begin(t.Context(), alice.Note(i, "x"), store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := s.Put(ctx, alice.Note(2, "x"), store.PutOptions{}); r.Outcome != store.Failed || !errors.Is(r.Err, context.Canceled) {
		t.Errorf("with an ended context: %+v", r)
	}
	done := make(chan store.Result)
	go func() { done <- s.Put(t.Context(), alice.Note(3, "x"), store.PutOptions{}) }()
	release()
	if r := <-done; r.Outcome != store.Stored {
		t.Errorf("after room was made: %+v", r)
	}
}

func TestQueueIsBoundedInBytes(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.MaxQueueBytes = 3000 })
	release := events.HoldWriter(s)
	big := strings.Repeat("x", 2500)
	if _, err := s.Begin(t.Context(), alice.Note(0, big), store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Begin(ctx, alice.Note(1, big), store.PutOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("the second is queued: %v", err)
	}
	release()
	put(t, s, alice.Note(2, big), store.Stored)
}

// What makes much work for its size fills the queue, and a transaction, as its
// work does: 100 bytes for each index row.
func TestQueueIsBoundedInWork(t *testing.T) {
	tags := make(nostr.Tags, 1000)
	for i := range tags {
		tags[i] = nostr.Tag{"x", fmt.Sprint(i)}
	}
	for name, ev := range map[string]*nostr.Event{
		"tags": alice.Note(0, "x", tags...), "deletion": alice.Delete(0, make([]string, 1000)...),
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.MustOpen(t, func(o *sqlite.Options) { o.MaxQueueBytes = 100_000 })
			release := events.HoldWriter(s)
			if _, err := s.Begin(t.Context(), ev, store.PutOptions{}); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := s.Begin(ctx, alice.Note(1, "small"), store.PutOptions{}); !errors.Is(err, context.Canceled) {
				t.Errorf("another is queued beside it: %v", err)
			}
			release()
			put(t, s, alice.Note(2, "small"), store.Stored)
		})
	}
}

// Many putters of one address end with the newest as head and every other
// version in history, whatever the order.
func TestConcurrentPutters(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions = 1000 })
	const putters, each = 8, 25
	var wg sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[store.Outcome]int{}
	for p := range putters {
		wg.Go(func() {
			for i := range each {
				at := int64(i*putters + p)
				for _, ev := range []*nostr.Event{alice.Entry(bob, at, "c", "x"), alice.Fake(0, at, "{}"), alice.Note(at, "n")} {
					r := s.Put(context.Background(), ev, store.PutOptions{})
					mu.Lock()
					outcomes[r.Outcome]++
					mu.Unlock()
				}
			}
		})
	}
	for range 50 {
		if _, err := s.Query(t.Context(), store.Ask{Filter: nostr.Filter{Kinds: []int{1}}}); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	if outcomes[store.Failed]+outcomes[store.Refused]+outcomes[store.Duplicate] > 0 {
		t.Errorf("outcomes %v", outcomes)
	}
	if n := rows(t, s, "events WHERE kind = 30090 AND created_at = %d", storetest.Start.Unix()+putters*each-1); n != 1 {
		t.Error("the newest entry is not the head")
	}
	if n := rows(t, s, "history"); n != putters*each-1 {
		t.Errorf("%d versions, want %d", n, putters*each-1)
	}
	wantWhole(t, s)
}
