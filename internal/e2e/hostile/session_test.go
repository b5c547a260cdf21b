//go:build nightly

package hostile

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestSession_PipelinedInOrder sends all frames at once: the answers come in
// the order of the frames, each with the effects of all frames before it.
func TestSession_PipelinedInOrder(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := rig.Start(t)
	for round := range 20 {
		c := rig.Dial(t, relay)
		base := rig.Now() - 10_000 + int64(round)*100
		slug := fmt.Sprint("mem/round/", round)
		old := relaytest.Memory(agent, owner.Pub, slug, "old", base)
		head := relaytest.Memory(agent, owner.Pub, slug, "head", base+1)
		note := relaytest.Note(agent, base, fmt.Sprint("note ", round))
		auth := relaytest.AuthEvent(owner, relay.URL, c.Challenge, rig.Now())
		filter := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}, "#d": []string{head.Tags.GetD()}}

		c.MustSend("REQ", "too early", filter)
		c.MustSend("AUTH", auth)
		c.MustSend("EVENT", old)
		c.MustSend("REQ", "one", filter)
		c.MustSend("EVENT", head)
		c.MustSend("EVENT", old)
		c.MustSend("COUNT", "n", filter)
		c.MustSend("REQ", "one", filter)
		c.MustSend("CLOSE", "one")
		c.MustSend("EVENT", note)
		c.MustSend("EVENT", relaytest.Deletion(agent, base+2, rig.Tag("e", note.ID)))
		c.MustSend("REQ", "two", rig.ByID(note))
		c.MustSend("EVENT", note)
		c.MustSend("NOISE")
		c.MustSend("COUNT", "end", rig.ByID(head))

		if f := c.Expect("AUTH"); f.Text(0) != c.Challenge {
			t.Errorf("challenge changed to %s", f.Raw)
		}
		wantText(t, c.Expect("CLOSED"), 0, "too early")
		wantOK(t, c.Expect("OK"), auth.ID, true, "")
		wantOK(t, c.Expect("OK"), old.ID, true, "")
		if f := c.Expect("EVENT"); f.Event() == nil || f.Event().ID != old.ID {
			t.Errorf("a REQ after an EVENT misses it: %s", f.Raw)
		}
		wantText(t, c.Expect("EOSE"), 0, "one")
		// The new head is also delivered live to "one", before or after its OK.
		lived := 0
		for _, next := range []func(relaytest.Frame){
			func(f relaytest.Frame) { wantOK(t, f, head.ID, true, "") },
			func(f relaytest.Frame) { wantOK(t, f, old.ID, true, rig.Duplicate) }, // it is kept as history
		} {
			f := c.MustNext()
			for ; f.Label == "EVENT"; f = c.MustNext() {
				lived++
			}
			next(f)
		}
		if f := c.MustNext(); f.Label == "EVENT" {
			lived++
			counted(t, c.Expect("COUNT"), 1)
		} else {
			counted(t, f, 1)
		}
		stored := 0
		f := c.MustNext()
		for ; f.Label == "EVENT" && f.Event().ID == head.ID; f = c.MustNext() {
			stored++ // the live one may also come only here
		}
		if f.Label != "EOSE" || f.Sub() != "one" || stored == 0 || stored+lived > 2 {
			t.Errorf("REQ again: %s after %d live and %d more", f.Raw, lived, stored)
		}
		wantOK(t, c.Expect("OK"), note.ID, true, "")
		if f := c.Expect("OK"); !f.OK().True {
			t.Errorf("deletion: %s", f.Raw)
		}
		wantText(t, c.Expect("EOSE"), 0, "two")
		wantOK(t, c.Expect("OK"), note.ID, false, rig.Deleted)
		c.Expect("NOTICE")
		wantText(t, c.Expect("COUNT"), 0, "end")
	}
}

func counted(t *testing.T, f relaytest.Frame, want int64) {
	t.Helper()
	if f.Label != "COUNT" || f.Count() != want {
		t.Errorf("%s, want COUNT %d", f.Raw, want)
	}
}

func wantText(t *testing.T, f relaytest.Frame, i int, want string) {
	t.Helper()
	if f.Text(i) != want {
		t.Errorf("%s: argument %d is not %q", f.Raw, i, want)
	}
}

func wantOK(t *testing.T, f relaytest.Frame, id string, ok bool, message string) {
	t.Helper()
	if got := f.OK(); got.ID != id || got.True != ok || got.Message != message {
		t.Errorf("%s, want %v %q for %s", f.Raw, ok, message, id)
	}
}

// TestSession_NoGapNoRepeat subscribes again and again while others publish:
// stored and live events together are all events, each once.
func TestSession_NoGapNoRepeat(t *testing.T) {
	const publishers, each, subscribers = 3, 400, 24
	rng := rand.New(rand.NewPCG(rig.Seed(t), 2))
	relay := rig.Start(t)
	base := rig.Now() - 50_000
	all := make([][]*nostr.Event, publishers)
	want := map[string]bool{}
	for p := range all {
		k := relaytest.NewKey(uint64(600 + p))
		for i := range each {
			ev := relaytest.Note(k, base+int64(rng.IntN(1000)), fmt.Sprint(p, " ", i), rig.Tag("t", "gap"))
			all[p] = append(all[p], ev)
			want[ev.ID] = true
		}
	}
	marker := relaytest.Sign(relaytest.NewKey(610), 7, rig.Now(), "", rig.Tag("t", "gap"))
	filter := relaytest.Filter{"kinds": []int{1, 7}, "#t": []string{"gap"}, "limit": 5000}

	progress := make(chan string, publishers*each)
	var publishing sync.WaitGroup
	for _, evs := range all {
		c := rig.Dial(t, relay)
		publishing.Go(func() {
			for _, ev := range evs {
				if ok, err := c.Publish(ev); err != nil || !ok.True {
					t.Errorf("publish: %v %v", ok, err)
				}
				progress <- ev.ID
			}
		})
	}
	var reading sync.WaitGroup
	results := make(chan error, subscribers)
	stored := map[string]bool{}
	for range subscribers {
		for range publishers * each / subscribers { // spread over the publishing
			stored[<-progress] = true
		}
		c, before := rig.Dial(t, relay), maps.Clone(stored)
		reading.Go(func() { results <- everythingOnce(c.Client, filter, before, want, marker.ID) })
	}
	publishing.Wait()
	rig.Dial(t, relay).Store(marker)
	reading.Wait()
	for range subscribers {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
}

// everythingOnce subscribes and reads until the marker. Events stored before
// are in the answer, newest first; events stored meanwhile may be in it
// anywhere.
func everythingOnce(c *relaytest.Client, filter relaytest.Filter, before, want map[string]bool, marker string) error {
	a, err := c.Subscribe("gap", filter)
	if err != nil {
		return err
	}
	old := slices.DeleteFunc(slices.Clone(a.Events), func(ev *nostr.Event) bool { return !before[ev.ID] })
	if len(old) != len(before) {
		return fmt.Errorf("%d of %d events that were stored before are in the answer", len(old), len(before))
	}
	ordered := slices.Clone(old)
	rig.SortNewestFirst(ordered)
	if !slices.Equal(rig.IDs(ordered...), rig.IDs(old...)) {
		return fmt.Errorf("stored events are not newest first")
	}
	seen := map[string]bool{}
	take := func(id string) error {
		if seen[id] {
			return fmt.Errorf("%s came twice (%d stored)", id, len(a.Events))
		}
		seen[id] = true
		return nil
	}
	for _, id := range a.IDs() {
		if err := take(id); err != nil {
			return err
		}
	}
	for !seen[marker] {
		ev, err := c.Live("gap")
		if err != nil {
			return fmt.Errorf("after %d stored and %d in all: %w", len(a.Events), len(seen), err)
		}
		if err := take(ev.ID); err != nil {
			return err
		}
	}
	for id := range want {
		if !seen[id] {
			return fmt.Errorf("%s never came (%d stored, %d of %d in all)", id, len(a.Events), len(seen)-1, len(want))
		}
	}
	return nil
}

// TestSession_LargestAnswer: a client that reads gets 5,000 engrams of the
// largest size in one REQ, while another one is served in turn. There are 500
// large ones here, and 5,000 in make soak (ENGRAMD_SOAK=1): 440 MB.
func TestSession_LargestAnswer(t *testing.T) {
	count := 300
	if rig.Soak() {
		count = 5000
	}
	agent, owner := relaytest.Agent(), relaytest.Owner()
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain})
	c := rig.Dial(t, relay, owner)
	base := rig.Now() - 100_000
	for i := range count {
		c.MustSend("EVENT", relaytest.SizedEngram(agent, owner.Pub, fmt.Sprintf("%064x", i+1), 65_535, base+int64(i)))
		if i%16 == 15 || i == count-1 {
			for range i%16 + 1 {
				if f := c.Expect("OK"); !f.OK().True {
					t.Fatalf("an engram of the largest body: %s", f.Raw)
				}
			}
		}
	}
	c.Patience = 2 * time.Minute
	memory := relay.WatchMemory()
	a := c.MustQuery(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}, "limit": 5000})
	if len(a.Events) != count {
		t.Errorf("%d of %d engrams of the largest size", len(a.Events), count)
	}
	peak, err := memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d engrams of the largest size, peak memory %d MiB", count, peak>>20)
	if peak > 150<<20 {
		t.Errorf("the daemon has used %d MiB to answer one REQ", peak>>20)
	}
}
