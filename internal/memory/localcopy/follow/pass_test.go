package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
)

// some are n versions, a minute apart, the last one now.
func some(n int) (out []*nostr.Event) {
	now := time.Now().Unix()
	for i := range n {
		out = append(out, version(fmt.Sprint("a", i), now-int64(60*(n-1-i))))
	}
	return out
}

var (
	noSync  = fmt.Errorf("%w: not listed", transfer.ErrNoSync)
	garbage = fmt.Errorf("%w: no message", client.ErrMisbehaved)
)

// TestPass: after whatever happened at a relay, the copy has what it shows, or
// the relay is not confirmed and nothing of it is lost.
func TestPass(t *testing.T) {
	ahead := version("ahead", time.Now().Unix()+1e6)
	tests := map[string]struct {
		before func(r *fakeRelay) // how it is from the beginning
		then   func(r *fakeRelay) // what happens after the first pass
		depth  Depth
		fails  error
		read   bool // it is read in full
	}{
		"nothing":                      {},
		"written, replaced, removed":   {then: func(r *fakeRelay) { r.put(version("new", now())); r.put(version("a1", now())); r.has = r.has[1:] }},
		"all is gone":                  {then: func(r *fakeRelay) { r.has = nil }},
		"old ones come back":           {then: func(r *fakeRelay) { r.has = append(r.has, version("old", 5), version("a3", 6)) }},
		"it goes back":                 {then: func(r *fakeRelay) { r.has = append(r.has[:20:20], version("a29", 7)) }},
		"of no use":                    {before: func(r *fakeRelay) { r.put(version("useless", now())) }},
		"of no use, later":             {then: func(r *fakeRelay) { r.put(version("useless", now())) }},
		"garbage for a reconciliation": {then: func(r *fakeRelay) { r.noSync = garbage; r.has = r.has[2:] }, read: true},
		"it reconciles no more":        {then: func(r *fakeRelay) { r.noSync = noSync; r.put(version("new", now())) }},
		"read because somebody says":   {depth: Read, read: true},
		"it does not list what it has": {then: func(r *fakeRelay) { r.unlisted = func(ev *nostr.Event) bool { return ev.Tags.GetD() < "a2" } }},
		"it lists what it does not give": {then: func(r *fakeRelay) {
			r.conjured = [][32]byte{{1}, {2}}
		}},
		"it hides and conjures":       {then: func(r *fakeRelay) { r.conjured = [][32]byte{{1}}; r.has = r.has[3:]; r.miscount = 9 }, read: true},
		"some is damaged":             {depth: Full, then: func(r *fakeRelay) { r.damaged, r.has = []*nostr.Event{r.has[3], r.has[20]}, gone(r.has, 3, 20, 25) }},
		"damaged, by count":           {before: counting, then: func(r *fakeRelay) { r.damaged, r.has = r.has[:1], r.has[1:] }, fails: errCut},
		"by count: nothing":           {before: counting},
		"by count: written, replaced": {before: counting, then: func(r *fakeRelay) { r.put(version("new", now())); r.put(version("a1", now())) }},
		"by count: gone":              {before: counting, then: func(r *fakeRelay) { r.has = r.has[1:] }, read: true},
		"by count: went back":         {before: counting, then: func(r *fakeRelay) { r.has = r.has[:9] }, read: true},
		"by count: an old one":        {before: counting, then: func(r *fakeRelay) { r.put(version("old", 5)) }, read: true},
		"by count: it lies":           {before: counting, then: func(r *fakeRelay) { r.miscount = 3 }, read: true},
		"by count: swapped, a full comparison": {before: counting, depth: Full,
			then: func(r *fakeRelay) { r.has = append(r.has[1:], version("b", 5)) }, read: true},
		"by count: dated ahead":    {before: func(r *fakeRelay) { counting(r); r.has = append(r.has, ahead) }, then: func(r *fakeRelay) { r.put(version("new", now())) }},
		"by count: of no use":      {before: counting, then: func(r *fakeRelay) { r.put(version("useless", now())) }},
		"without count":            {before: func(r *fakeRelay) { counting(r); r.noCount = transfer.ErrNoCount }, then: func(r *fakeRelay) { r.put(version("new", now())) }},
		"it is down":               {then: func(r *fakeRelay) { r.fails = errors.New("down"); r.put(version("new", now())) }, fails: errors.New("down")},
		"it refuses us":            {then: func(r *fakeRelay) { r.noSync = &client.RefusalError{Message: "auth-required: who"}; r.has = nil }, fails: client.ErrAuth},
		"it refuses to reconcile":  {then: func(r *fakeRelay) { r.noSync = &client.RefusalError{Message: "error: no"}; r.has = r.has[1:] }, read: true},
		"its pages are cut":        {then: func(r *fakeRelay) { r.noSync = noSync; r.cut = true; r.has = r.has[9:] }, fails: errCut},
		"it ends among the pages":  {then: func(r *fakeRelay) { r.noSync = noSync; r.ends = 1; r.has = r.has[1:] }, fails: client.ErrMisbehaved},
		"gone, back while we look": {then: regains},
		"it always differs": {then: func(r *fakeRelay) {
			r.meddle = func(string) { r.put(version("a5", now()+int64(r.questions("reconcile")))) }
		}},
		"by count: always one more": {before: counting, then: func(r *fakeRelay) { r.meddle = func(what string) { another(r, what) } }, fails: nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r, c := newRelay("r", some(30)...), newCopy()
			if tt.before != nil {
				tt.before(r)
			}
			f := follower(c, r)
			if out := caught(t, f, Quick); out.Err != nil || !c.mark(r).Complete || out.Took < 30 {
				t.Fatalf("%+v, %+v", out, c.mark(r))
			}
			c.alike(t, r)
			held, _ := c.Holds(t.Context(), r.Canonical())
			first := c.mark(r)
			r.asked, r.filters = map[string]int{}, nil
			if tt.then != nil {
				tt.then(r)
			}
			out := caught(t, f, tt.depth)
			r.meddle = nil
			if tt.fails != nil {
				if out.Err == nil || errors.Is(tt.fails, client.ErrAuth) != errors.Is(out.Err, client.ErrAuth) || !c.mark(r).Confirmed.Equal(first.Confirmed) {
					t.Errorf("%+v, confirmed %v", out, c.mark(r).Confirmed.Sub(first.Confirmed))
				}
				if still, _ := c.Holds(t.Context(), r.Canonical()); len(still) < len(held) {
					t.Errorf("%d of %d are left", len(still), len(held))
				}
				return
			}
			if out.Err != nil || !c.mark(r).Confirmed.After(first.Confirmed) {
				t.Errorf("%+v, confirmed %v", out, c.mark(r).Confirmed.Sub(first.Confirmed))
			}
			read := false
			for _, q := range r.filters {
				read = read || q.Since == nil
			}
			if read != tt.read {
				t.Errorf("read in full: %v; asked %v", read, r.asked)
			}
			if name == "it always differs" || name == "by count: always one more" {
				caught(t, f, Quick)
			}
			c.alike(t, r)
		})
	}
}

func now() int64 { return time.Now().Unix() }

// gone is a list without those at some places.
func gone(list []*nostr.Event, at ...int) (left []*nostr.Event) {
	for i, ev := range list {
		if !slices.Contains(at, i) {
			left = append(left, ev)
		}
	}
	return left
}

func counting(r *fakeRelay) { r.noSync = noSync }

// regains loses an event, and has it again when it is asked for it.
func regains(r *fakeRelay) {
	gone := r.has[0]
	r.has = r.has[1:]
	r.meddle = func(what string) {
		if what == "fetch" {
			r.meddle = nil
			r.put(gone)
		}
	}
}

// another is written before each count.
func another(r *fakeRelay, what string) {
	if n := r.questions("count"); what == "count" && n < 2 {
		r.put(version(fmt.Sprint("more", n), now()))
	}
}

// What is there is compared in one question, and nothing is fetched again.
func TestPassThatFindsNothing(t *testing.T) {
	r, c := newRelay("r", some(30)...), newCopy()
	r.put(version("useless", now()))
	f := follower(c, r)
	for range 2 {
		caught(t, f, Quick)
	}
	r.asked = map[string]int{}
	for range 3 {
		if out := caught(t, f, Quick); out.Err != nil || out.Took+out.Left > 0 {
			t.Errorf("%+v", out)
		}
	}
	if r.asked["reconcile"] != 3 || len(r.asked) != 1 {
		t.Errorf("asked %v", r.asked)
	}
}

// Options.Passed is called once in each pass: with all that came, and before the store
// says that it is current.
func TestPassedBeforeConfirmed(t *testing.T) {
	r, c := newRelay("r", some(30)...), newCopy()
	f := follower(c, r)
	calls := 0
	f.o.Passed = func(ctx context.Context, full bool) {
		calls++
		held, _ := c.Holds(ctx, r.Canonical())
		if m, err := c.Mark(ctx, r.Canonical()); err != nil || !m.Confirmed.IsZero() || len(held) != 30 || !full {
			t.Errorf("%+v, %v, %d events, full: %v", m, err, len(held), full)
		}
	}
	if out := caught(t, f, Quick); out.Err != nil || calls != 1 {
		t.Errorf("%+v, called %d times", out, calls)
	}
	r.fails = client.ErrNoRelay
	f.o.Passed = func(_ context.Context, full bool) { calls++ }
	if out := caught(t, f, Quick); out.Err == nil || calls != 2 {
		t.Errorf("%+v, called %d times", out, calls)
	}
}

// A relay that does not reconcile is read in full once a day.
func TestReadOnceADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newRelay("r", some(30)...), newCopy()
		counting(r)
		f := follower(c, r)
		caught(t, f, Quick)
		swapped := version("b", 5)
		r.has[0] = swapped
		time.Sleep(fullEvery - time.Minute)
		if out := caught(t, f, Quick); out.Err != nil || out.Took > 0 {
			t.Errorf("within the day: %+v", out)
		}
		time.Sleep(2 * time.Minute)
		if out := caught(t, f, Quick); out.Err != nil || out.Took != 1 || out.Left != 1 {
			t.Errorf("after a day: %+v", out)
		}
		c.alike(t, r)
	})
}

// A relay that hangs costs the others nothing, and what it has is kept.
func TestOneThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good, bad, c := newRelay("good", some(30)...), newRelay("bad", some(9)...), newCopy()
		f := follower(c, bad, good)
		if _, err := f.CatchUp(t.Context(), Ask{}); err != nil {
			t.Fatal(err)
		}
		bad.hangs = true
		good.put(version("new", now()))
		for _, tt := range []struct {
			ask     Ask
			longest time.Duration
		}{{Ask{Grace: time.Second}, time.Second}, {Ask{}, 10 * time.Second}} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			start := time.Now()
			out, err := f.CatchUp(ctx, tt.ask)
			cancel()
			if took := time.Since(start); err != nil || !errors.Is(out[0].Err, client.ErrTimeout) || out[1].Err != nil || took > tt.longest {
				t.Errorf("%+v, %v after %v", out, err, took)
			}
			c.alike(t, good)
			c.alike(t, bad)
		}
	})
}

// What came before a relay ended is kept, and the rest of it is asked for.
func TestAFirstPassThatEnds(t *testing.T) {
	all := make([]*nostr.Event, 3*batch)
	for i := range all {
		all[i] = version(fmt.Sprint(i), int64(1_700_000_000+i))
	}
	r, c := newRelay("r", all...), newCopy()
	r.ends = batch + 10
	f := follower(c, r)
	if out := caught(t, f, Quick); out.Err == nil || out.Took != batch+10 || c.mark(r).Complete {
		t.Errorf("%+v, %+v", out, c.mark(r))
	}
	r.ends = 0
	if out := caught(t, f, Quick); out.Err != nil || out.Took != 2*batch-10 || !c.mark(r).Complete {
		t.Errorf("%+v, %+v", out, c.mark(r))
	}
	c.alike(t, r)
}

// Whoever waits for a first pass is told how it goes.
func TestProgress(t *testing.T) {
	c := newCopy()
	f := follower(c, newRelay("a", some(1200)...), newRelay("b", some(700)...))
	last, of := 0, 0
	_, err := f.CatchUp(t.Context(), Ask{Progress: func(n, all int) {
		if n < last || n > all {
			t.Errorf("%d of %d after %d", n, all, last)
		}
		last, of = n, all
	}})
	if err != nil || last != 1900 || of != 1900 {
		t.Errorf("%d of %d, %v", last, of, err)
	}
}

// A copy that fails is no relay's fault.
func TestABrokenCopy(t *testing.T) {
	c := newCopy()
	c.broken = errors.New("the disk is full")
	if _, err := follower(c, newRelay("r", some(3)...)).CatchUp(t.Context(), Ask{}); !errors.Is(err, errStore) || !errors.Is(err, c.broken) {
		t.Error(err)
	}
}

// What another process forgets while a relay is compared, or what goes with the
// file, is not held to be there: it is asked for anew.
func TestForgottenMeanwhile(t *testing.T) {
	for _, when := range []string{"reconcile", "count", "pages"} {
		for _, built := range []bool{false, true} {
			t.Run(fmt.Sprint(when, built), func(t *testing.T) {
				r, c := newRelay("r", some(2*batch)...), newCopy()
				f := follower(c, r)
				if built {
					caught(t, f, Quick)
				}
				if when != "reconcile" {
					r.noSync = transfer.ErrNoSync
				}
				forgotten := false
				r.meddle = func(what string) {
					if what == when && !forgotten {
						forgotten = true
						_, _ = c.Forget(t.Context(), r.Canonical())
					}
				}
				out := caught(t, f, Quick)
				if out.Err != nil || forgotten && !c.mark(r).Complete {
					t.Errorf("%+v, %+v", out, c.mark(r))
				}
				c.alike(t, r)
			})
		}
	}
}

// A copy that is interrupted because the time is over is not broken.
func TestAnInterruptedCopy(t *testing.T) {
	c := newCopy()
	ctx, cancel := context.WithCancel(t.Context())
	r := newRelay("r", some(3)...)
	r.meddle = func(string) { cancel(); c.broken = context.Canceled }
	f := follower(c, r)
	f.o.Sources = func() ([]Source, bool) { return []Source{r}, false } // nothing is forgotten
	if out, err := f.CatchUp(ctx, Ask{}); err != nil || !errors.Is(out[0].Err, client.ErrTimeout) {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestLostInParts: a pass that is cut off while it takes off what a relay lost has done a
// part, and the next one goes on there.
func TestLostInParts(t *testing.T) {
	const n = 2*1000 + 1
	r, c := newRelay("r", some(n)...), newCopy()
	f := follower(c, r)
	if out := caught(t, f, Quick); out.Err != nil {
		t.Fatal(out.Err)
	}
	asked := 0
	r.set(func() {
		r.has = nil
		r.meddle = func(what string) {
			if what == "fetch" {
				if asked++; asked == 1 { // the next one fails
					r.set(func() { r.fails = client.ErrTimeout })
				}
			}
		}
	})
	for _, left := range []int{n - lostAtOnce, 0} {
		out := caught(t, f, Full)
		if held, err := c.Holds(t.Context(), r.Canonical()); err != nil || len(held) != left || (out.Err == nil) != (left == 0) {
			t.Errorf("%d are left, want %d: %v %v", len(held), left, out.Err, err)
		}
		r.set(func() { r.fails = nil })
	}
}
