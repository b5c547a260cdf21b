package verify

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
)

type at []string

func (a at) Nodes() int       { return len(a) }
func (a at) URL(i int) string { return a[i] }

// A relay that takes what is written, and answers who proves a key by which it does not
// know itself with a refusal, is named with what to do.
func TestProofIsNotTaken(t *testing.T) {
	url := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		c.Sendf(`["AUTH","challenge"]`)
		for {
			f, ok := c.Read()
			switch {
			case !ok:
				return
			case f.Label == "EVENT":
				c.Sendf(`["OK",%q,true,""]`, f.Event.ID)
			case f.Label == "AUTH":
				c.Sendf(`["OK",%q,false,"invalid: auth event is for another relay"]`, f.Event.ID)
			case f.Label == "REQ":
				c.Sendf(`["CLOSED",%q,"auth-required: this relay is read only by who has proved a key"]`, f.SubID)
			}
		}
	}})
	err := NewWorld(at{url, url}, "proof").Try()
	if err == nil || !strings.Contains(err.Error(), "does not take the proof") || !strings.Contains(err.Error(), "public_url must list this URL") {
		t.Errorf("told %v", err)
	}
}

// hoards serves relays that keep every version, all by one memory, the last one by what
// change makes of it.
func hoards(t *testing.T, change func(*clienttest.Hoard, *clienttest.Conn, wire.Frame) bool) *World {
	h := &clienttest.Hoard{}
	first := clienttest.StartHoard(t, h)
	last := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for {
			f, ok := c.Read()
			if !ok {
				return
			}
			if !change(h, c, f) {
				h.Answer(c, f)
			}
		}
	}})
	w := NewWorld(at{first, last}, t.Name())
	quit := make(chan struct{})
	close(quit)
	w.Pace, w.Quit = time.Millisecond, quit
	return w
}

// Who shows a write no longer that another has acknowledged is found while it runs, and
// in the end.
func TestStaleReadsAreFound(t *testing.T) {
	w := hoards(t, func(_ *clienttest.Hoard, c *clienttest.Conn, f wire.Frame) bool {
		if f.Label == "REQ" && len(f.Filters[0].IDs) > 0 {
			return c.Sendf(`["EOSE",%q]`, f.SubID)
		}
		return false
	})
	if err := w.Try(); err == nil || !strings.Contains(err.Error(), "not nodes of one cluster") {
		t.Errorf("tried: %v", err)
	}
	a := w.Actor(context.Background(), 1)
	defer a.Close()
	w.notes(a, 0)
	if err := w.Judge(); err != nil {
		t.Fatal(err)
	}
	found := strings.Join(w.Violations(), "\n")
	for _, want := range []string{"read your own write: node 1 shows 0", "lost: node 1 has not kind 1", "nodes 0 and 1 differ"} {
		if !strings.Contains(found, want) {
			t.Errorf("not found %q: %s", want, found)
		}
	}
}

// A write without an answer that comes between two looks is no difference: what differs
// is asked for again, with what it replaces.
func TestWhatComesLateIsNoDifference(t *testing.T) {
	var late atomic.Pointer[nostr.Event]
	w := hoards(t, func(h *clienttest.Hoard, c *clienttest.Conn, f wire.Frame) bool {
		if f.Label == "REQ" {
			if ev := late.Swap(nil); ev != nil {
				h.Put(ev)
			}
		}
		return false
	})
	c := w.Conn(0)
	defer c.Close()
	if wrote := w.Note(c); wrote.Outcome != Stored {
		t.Fatal(wrote.Message)
	}
	ev := w.NoteOf(w.Key(1))
	late.Store(ev)
	w.note(&Write{Event: ev, Message: "error: no answer"})
	if err := w.Judge(); err != nil || len(w.Violations()) > 0 {
		t.Error(err, w.Violations())
	}
}

// With an event that is asked for again goes what it replaces.
func TestDoubtful(t *testing.T) {
	w := NewWorld(nowhere{}, t.Name())
	var writes []*Write
	for i, kind := range []int{nostr.KindArticle, nostr.KindArticle, nostr.KindTextNote, nostr.KindTextNote} {
		writes = append(writes, &Write{Event: w.Sign(w.Key(0), kind, int64(1000+i), fmt.Sprint(i), nostr.Tag{"d", "x"})})
	}
	shows := func(list ...int) map[string]bool {
		there := map[string]bool{}
		for _, i := range list {
			there[writes[i].Event.ID] = true
		}
		return there
	}
	for _, c := range []struct {
		first, last []int
		want        []*Write
	}{
		{[]int{0, 2}, []int{0, 2}, nil},
		{[]int{0, 2}, []int{0, 1, 2}, writes[:2]},
		{[]int{0, 2}, []int{0, 2, 3}, writes[3:]},
	} {
		if got := doubtful(writes, []map[string]bool{shows(c.first...), shows(c.last...)}); !slices.Equal(got, c.want) {
			t.Errorf("%v and %v: %d writes, want %d", c.first, c.last, len(got), len(c.want))
		}
	}
}

// soonest is a client's chance that never has it wait.
type soonest struct{}

func (soonest) Uint64() uint64 { return 1 << 32 }

// Subscriptions are judged: by what comes before EOSE, and by what comes twice.
func TestSubscriptionsAreJudged(t *testing.T) {
	for want, times := range map[string]int{"": 1, "got EOSE without 1 notes": 0, "twice": 2} {
		t.Run(want, func(t *testing.T) {
			w := hoards(t, func(h *clienttest.Hoard, c *clienttest.Conn, f wire.Frame) bool {
				if f.Label != "REQ" {
					return false
				}
				for range times {
					c.Event(f.SubID, h.Last())
				}
				return c.Sendf(`["EOSE",%q]`, f.SubID)
			})
			a := w.Actor(context.Background(), 1)
			defer a.Close()
			if wrote := w.Note(a.Conn(0)); wrote.Outcome != Stored {
				t.Fatal(wrote.Message)
			}
			a.Rand = rand.New(soonest{})
			w.subscriber(a, 1)
			found := strings.Join(w.Violations(), "\n")
			if (found == "") != (want == "") || !strings.Contains(found, want) {
				t.Errorf("judged %q", found)
			}
		})
	}
}
