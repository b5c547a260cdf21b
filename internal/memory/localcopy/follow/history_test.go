package follow

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/memory/localcopy"
	"engramd/internal/protocol/wire"
)

// TestHistories: relays write, lose, regain, go back, and behave as moods have
// it. After every step the copy says what the client's own list says, or that it
// is not fresh; and nothing that the agent did not sign is ever in it.
func TestHistories(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("ENGRAMD_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("ENGRAMD_SEED=%d", seed)
	runs, steps := 4, 25
	switch {
	case os.Getenv("ENGRAMD_SOAK") != "":
		runs, steps = 40, 100
	case testing.Short():
		runs = 1
	}
	fresh, compared := 0, 0
	for i := range runs {
		f, c := history(t, rand.New(rand.NewPCG(seed, uint64(i))), steps)
		fresh, compared = fresh+f, compared+c
	}
	t.Logf("fresh after %d of %d steps, of which %d compared", fresh, runs*steps, compared)
	if fresh < runs*steps/10 && runs > 1 {
		t.Error("it is hardly ever fresh: this test sees nothing")
	}
}

func history(t *testing.T, r *rand.Rand, steps int) (fresh, compared int) {
	w := newWorld(t, 1+r.IntN(3))
	w.relays[0].hoard = r.IntN(3) == 0
	var lost []*nostr.Event
	for i := range 5 {
		w.change(r, &lost, i)
	}
	c, m := memory(t, enough, w.urls()...)
	_, list := memory(t, enough, w.urls()...)
	kept := open(t, m, "", w.now)
	f := followerOf(c, m, kept, w.now)
	for step := range steps {
		w.late.Add(61) // what was confirmed before does not count
		for range r.IntN(4) {
			w.change(r, &lost, step)
		}
		hanging, fine := false, true
		for _, relay := range w.relays {
			relay.drop() // they do not know one another's moods
			is := telling[r.IntN(len(telling))]
			if r.IntN(4) == 0 {
				is = untrue[r.IntN(len(untrue))]
			}
			relay.turn(is)
			hanging, fine = hanging || is == hangs, fine && is != hangs
		}
		limit := enough
		if hanging {
			limit = time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		out, err := f.CatchUp(ctx, Ask{Depth: []Depth{Full, Read}[r.IntN(2)]})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		state, err := f.Freshness(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		dropBehind(t, kept)
		got := shown(t, kept, func(h localcopy.Head) {
			if !w.all[h.ID] {
				t.Fatalf("nobody signed %s", h.ID)
			}
		})
		if state.Stale || state.Unfinished {
			continue
		}
		fresh++
		l, status, _ := list.ListAll(t.Context())
		if status.Partial || !fine {
			continue // whoever cannot be asked in full now was, a moment ago
		}
		compared++
		if want := told(l); got != want {
			t.Fatalf("step %d, %v: the copy says\n%s\nthe relays\n%s\n%+v", step, moods(w), got, want, out)
		}
	}
	return fresh, compared
}

// dropBehind drops the heads that no relay shows: the rest is what relays have.
func dropBehind(t *testing.T, kept *localcopy.Copy) {
	t.Helper()
	behind, err := kept.Behind(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range behind {
		if whole, _, err := kept.At(t.Context(), l.D); err != nil || whole.Event == nil || wire.Verify(whole.Event) != nil {
			t.Fatalf("%s cannot be sent again: %v", l.ID, err)
		}
		if _, err := kept.Drop(t.Context(), l.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func moods(w *world) (all []mood) {
	for _, r := range w.relays {
		all = append(all, r.mood)
	}
	return all
}

// change is one thing that happens to relays.
func (w *world) change(r *rand.Rand, lost *[]*nostr.Event, step int) {
	relay := w.relays[r.IntN(len(w.relays))]
	slug := fmt.Sprintf("mem/%c", 'a'+r.IntN(6))
	at := w.now().Unix() - int64(r.IntN(2*step+2))
	switch what := r.IntN(10); {
	case what < 3: // at some relays
		ev := w.write(slug, fmt.Sprint("text ", r.IntN(1e6)), at)
		for _, other := range w.relays {
			if other == relay || r.IntN(3) > 0 {
				other.put(ev)
			}
		}
	case what == 3:
		relay.put(w.write(slug, "", at))
	case what == 4: // an old one, long ago
		relay.put(w.write(slug, "old", at-1e6))
	case what < 7 && len(relay.all()) > 0:
		*lost = append(*lost, relay.lose(r.IntN(1000)))
	case what < 9 && len(*lost) > 0: // regained, or gone back
		relay.put((*lost)[r.IntN(len(*lost))])
	case what == 9 && len(relay.all()) > 2:
		for range 2 {
			*lost = append(*lost, relay.lose(r.IntN(1000)))
		}
	}
}

// Whatever one relay does, what the other has is found, in time, and the copy is
// fresh only if the client's own list of both is whole.
func TestBesideABadRelay(t *testing.T) {
	for _, is := range append(append([]mood{}, telling...), untrue...) {
		t.Run(string(is), func(t *testing.T) {
			w := newWorld(t, 2)
			good, bad := w.relays[0], w.relays[1]
			for i := range 20 {
				ev := w.write(fmt.Sprint("mem/s", i), fmt.Sprint("text ", i), time.Now().Unix()-100+int64(i))
				good.put(ev)
				bad.put(ev)
			}
			c, m := memory(t, enough, w.urls()...)
			kept := open(t, m, t.TempDir(), w.now)
			f := followerOf(c, m, kept, w.now)
			if _, err := f.CatchUp(t.Context(), Ask{}); err != nil {
				t.Fatal(err)
			}
			w.late.Add(61)
			good.put(w.write("mem/s3", "newer", time.Now().Unix()))
			good.put(w.write("mem/new", "new", time.Now().Unix()))
			bad.turn(is)
			bad.drop()
			depth := Full
			if slices.Contains(untrue, is) {
				depth = Read
			}
			limit := enough
			if is == hangs {
				limit = 2 * time.Second
			}
			var out []Outcome
			for { // with more time, if the good one had too little on a busy machine
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				var err error
				out, err = f.CatchUp(ctx, Ask{Depth: depth})
				cancel()
				if err == nil && out[0].Err == nil {
					break
				}
				if limit *= 3; err != nil || limit > enough {
					t.Fatalf("%+v, %v", out, err)
				}
			}
			heads := map[string]string{}
			shown(t, kept, func(h localcopy.Head) { heads[h.Slug] = h.ID })
			if len(heads) != 21 || heads["mem/s3"] == "" {
				t.Errorf("%d heads", len(heads))
			}
			state, err := f.Freshness(t.Context())
			if err != nil || (!state.Stale && !state.Unfinished) == slices.Contains(untrue, is) {
				t.Errorf("%+v, %v: %+v", state, err, out)
			}
		})
	}
}
