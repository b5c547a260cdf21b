package follow

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nip77"
)

// running follows relays in a bubble until the test ends, and waits for the
// first comparison.
func running(t *testing.T, f *Follower) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	f.Await(t.Context(), 0)
}

func (c *fakeCopy) fresh(t testing.TB, f *Follower) (stale bool) {
	t.Helper()
	fresh, err := f.Freshness(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return fresh.Stale || fresh.Unfinished
}

func TestRunTakesWhatComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := newRelay("a", some(30)...), newRelay("b"), newCopy()
		f := follower(c, a, b)
		running(t, f)
		if c.fresh(t, f) {
			t.Error("stale after the first comparison")
		}
		for i := range 40 {
			a.put(version("x", int64(1_800_000_000+i)))
			b.put(version("y", int64(1_800_000_000+i)))
		}
		synctest.Wait() // no time passes
		for _, r := range []*fakeRelay{a, b} {
			last, _ := c.Holds(t.Context(), r.Canonical())
			if !slices.ContainsFunc(last, func(it nip77.Item) bool { return it.CreatedAt == 1_800_000_039 }) {
				t.Errorf("%s: the last is not there", r.name)
			}
		}
		time.Sleep(askEvery + time.Second)
		c.alike(t, a)
		c.alike(t, b)
	})
}

// The first comparison is waited for: of a relay that hangs, as long as others took.
func TestAwait(t *testing.T) {
	for _, tt := range []struct {
		name        string
		takes, want time.Duration // of the relay that answers
	}{{"soon", 0, 2 * time.Second}, {"slow", 5 * time.Second, 10 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			fails, answers, hangs, c := newRelay("fails"), newRelay("answers", some(3)...), newRelay("hangs"), newCopy()
			fails.fails, hangs.hangs = errors.New("refused"), true
			var once sync.Once
			answers.meddle = func(what string) {
				if what != "live" {
					once.Do(func() { time.Sleep(tt.takes) })
				}
			}
			f := follower(c, fails, answers, hangs)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); f.Run(ctx) }()
			began := time.Now()
			f.Await(ctx, 2*time.Second)
			if got := time.Since(began); got != tt.want {
				t.Errorf("%s: waited for %v, not %v", tt.name, got, tt.want)
			}
			c.alike(t, answers)
			cancel()
			<-done
		})
	}
}

// Silence is asked about: the copy is stale only once no answer comes.
func TestRunConfirms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newRelay("r", some(30)...), newCopy()
		f := follower(c, r)
		running(t, f)
		r.set(func() { r.asked = map[string]int{} })
		for range 600 {
			time.Sleep(time.Second)
			if c.fresh(t, f) {
				t.Fatal("stale while the relay answers")
			}
		}
		if n := r.questions("reconcile"); n < 20 || n > 30 || r.questions("pages")+r.questions("live") > 0 {
			t.Errorf("asked %v in ten minutes", r.asked)
		}
		r.set(func() { r.hangs = true })
		time.Sleep(2 * time.Minute)
		if !c.fresh(t, f) {
			t.Error("not stale when it hangs")
		}
		r.set(func() { r.hangs = false; r.has = r.has[5:] })
		time.Sleep(passPatience + mostPause + livePatience)
		if c.fresh(t, f) {
			t.Error("stale after it answers again")
		}
		c.alike(t, r)
	})
}

// What was missed while the connection was gone is caught up with, and a relay
// that is away is tried again, later and later.
func TestRunReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newRelay("r", some(30)...), newCopy()
		f := follower(c, r)
		running(t, f)
		time.Sleep(10 * time.Minute)
		r.set(func() {
			r.fails = errors.New("down")
			for live := range r.live {
				close(live)
			}
			r.live, r.asked = map[chan *nostr.Event]bool{}, map[string]int{}
		})
		time.Sleep(time.Hour)
		if n := r.questions("live"); n < 20 || n > 60 {
			t.Errorf("tried %d times in an hour", n)
		}
		r.put(version("new", now()))
		r.set(func() { r.fails = nil })
		time.Sleep(mostPause + livePatience)
		c.alike(t, r)
		r.put(version("newer", now()+1))
		synctest.Wait()
		if c.fresh(t, f) {
			t.Error("stale")
		}
		c.alike(t, r)
	})
}

// A relay that answers and takes no live question is asked again and again.
func TestRunWithoutLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newRelay("r", some(30)...), newCopy()
		r.noLive = &client.RefusalError{Message: "error: too many"}
		f := follower(c, r)
		running(t, f)
		time.Sleep(5 * time.Minute)
		r.set(func() { r.asked = map[string]int{} })
		r.put(version("new", now()))
		for range 600 {
			time.Sleep(time.Second)
			if c.fresh(t, f) {
				t.Fatal("stale while the relay answers")
			}
		}
		c.alike(t, r)
		if n := r.questions("reconcile"); n < 20 || n > 60 {
			t.Errorf("compared %d times in ten minutes", n)
		}
	})
}

// A relay that says the same for ever is left alone for longer and longer, and
// none of it reaches the copy twice.
func TestRunIsFlooded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newRelay("r", some(30)...), newCopy()
		f := follower(c, r)
		ctx, cancel := context.WithCancel(t.Context())
		var flooding sync.WaitGroup
		flooding.Go(func() {
			for ctx.Err() == nil {
				r.set(func() {
					for live := range r.live {
						for len(live) < cap(live) {
							live <- r.has[0]
						}
					}
				})
				time.Sleep(time.Second)
			}
		})
		running(t, f)
		time.Sleep(time.Hour)
		cancel()
		flooding.Wait()
		if n := r.questions("live"); n > 300 {
			t.Errorf("%d sessions in an hour", n)
		}
		c.mu.Lock()
		if c.puts > 400 {
			t.Errorf("%d writes", c.puts)
		}
		c.mu.Unlock()
		c.alike(t, r)
	})
}

// A relay that is asked no more is ended, and forgotten once nobody asks it; one
// that may only not be known just now is neither.
func TestRelaysChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := newRelay("a", some(3)...), newRelay("b", some(4)...), newCopy()
		var mu sync.Mutex
		sources, all := []Source{a, b}, true
		set := func(s []Source, whole bool) {
			mu.Lock()
			defer mu.Unlock()
			sources, all = s, whole
		}
		f := follower(c)
		f.o.Sources = func() ([]Source, bool) {
			mu.Lock()
			defer mu.Unlock()
			return sources, all
		}
		running(t, f)
		set([]Source{a}, false)
		time.Sleep(2 * time.Hour)
		if fresh, _ := f.Freshness(t.Context()); !fresh.Stale {
			t.Error("not stale where relays may not be known")
		}
		b.put(version("new", now()))
		synctest.Wait()
		c.alike(t, b)
		set([]Source{a}, true)
		time.Sleep(forgetAfter - time.Minute)
		c.alike(t, b)
		c.mu.Lock()
		b.mu.Lock()
		if b.asked["live"] != 1 || len(b.live) > 0 || len(c.forgot) > 0 {
			t.Errorf("%d live, forgot %v", len(b.live), c.forgot)
		}
		b.mu.Unlock()
		c.mu.Unlock()
		time.Sleep(2 * time.Minute)
		c.mu.Lock()
		if !slices.Equal(c.forgot, []string{b.Canonical()}) {
			t.Errorf("forgot %v", c.forgot)
		}
		c.mu.Unlock()
		set([]Source{a, b}, true)
		time.Sleep(lookEvery)
		synctest.Wait()
		c.alike(t, b)
		if c.fresh(t, f) {
			t.Error("stale")
		}
	})
}

// A command forgets what nobody asks any more, too.
func TestCatchUpForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := newRelay("a", some(3)...), newRelay("b", some(4)...), newCopy()
		for _, tt := range []struct {
			after  time.Duration
			forgot int
		}{{time.Minute, 0}, {forgetAfter, 1}} {
			if _, err := follower(c, a, b).CatchUp(t.Context(), Ask{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(tt.after + time.Second)
			if _, err := follower(c, a).CatchUp(t.Context(), Ask{}); err != nil || len(c.forgot) != tt.forgot {
				t.Errorf("after %v: forgot %v, %v", tt.after, c.forgot, err)
			}
		}
	})
}

// What was written is there at once, at the relays that took it.
func TestWrote(t *testing.T) {
	a, b, c := newRelay("a"), newRelay("b"), newCopy()
	ev := version("x", 5)
	follower(c, a, b).Wrote(t.Context(), ev, []string{b.URL(), "wss://else"})
	if len(c.held[b.Canonical()]) != 1 || len(c.held) != 1 {
		t.Errorf("held: %v", c.held)
	}
}
