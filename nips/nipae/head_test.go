package nipae

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

func TestNewer(t *testing.T) {
	at := func(created nostr.Timestamp, id string) *nostr.Event { return &nostr.Event{CreatedAt: created, ID: id} }
	for name, c := range map[string]struct {
		a, b *nostr.Event
		want bool
	}{
		"later":              {at(2, "f"), at(1, "0"), true},
		"earlier":            {at(1, "0"), at(2, "f"), false},
		"tie, lower id":      {at(1, "0a"), at(1, "0b"), true},
		"tie, higher id":     {at(1, "0b"), at(1, "0a"), false},
		"the same":           {at(1, "0a"), at(1, "0a"), false},
		"before 1970":        {at(-1, "0a"), at(-2, "0a"), true},
		"anything over none": {at(-1, "0a"), nil, true},
		"none over anything": {nil, at(1, "0a"), false},
		"none over none":     {nil, nil, false},
	} {
		if got := Newer(c.a, c.b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestSelectHeadOutcomes(t *testing.T) {
	p := newPair(t, 1, 2)
	stranger, otherOwner := newPair(t, 3, 2), newPair(t, 1, 4)
	old, value, gone := p.write("mem/a", "old", 100), p.write("mem/a", "new", 200), p.remove("mem/a", 300)
	elsewhere := p.write("mem/b", "b", 400)
	forged := changed(old, func(ev *nostr.Event) { ev.CreatedAt = 900 })
	garbled := p.sealRaw("mem/a", `{"slug":"mem/a"}`, 500)
	noPayload := p.signed(*changed(old, func(ev *nostr.Event) { ev.Content, ev.CreatedAt = "x", 600 }))
	forgedNoPayload := changed(noPayload, func(ev *nostr.Event) { ev.CreatedAt = 800 })
	undecryptable := p.signed(*changed(old, func(ev *nostr.Event) {
		ev.Content, ev.CreatedAt = otherOwner.write("mem/a", "o", 1).Content, 700
	}))
	for name, c := range map[string]struct {
		candidates []*nostr.Event
		head       *nostr.Event
		unreadable int
		outside    int
		latest     int64
		text       string
		tombstone  bool
	}{
		"nothing":                    {},
		"nil":                        {candidates: []*nostr.Event{nil, nil}},
		"one":                        {candidates: []*nostr.Event{value}, head: value, latest: 200, text: "new"},
		"old after new":              {candidates: []*nostr.Event{value, old}, head: value, latest: 200, text: "new"},
		"new after old, twice":       {candidates: []*nostr.Event{old, value, nil, old, value}, head: value, latest: 200, text: "new"},
		"tombstone":                  {candidates: []*nostr.Event{gone, value, old}, head: gone, latest: 300, tombstone: true},
		"forgery is no head":         {candidates: []*nostr.Event{forged, value}, head: value, unreadable: 1, latest: 200, text: "new"},
		"garbled is no head":         {candidates: []*nostr.Event{garbled, gone, value}, head: gone, unreadable: 1, latest: 500, tombstone: true},
		"garbled twice counts once":  {candidates: []*nostr.Event{garbled, value, garbled}, head: value, unreadable: 1, latest: 500, text: "new"},
		"no payload is no head":      {candidates: []*nostr.Event{noPayload, value}, head: value, unreadable: 1, latest: 600, text: "new"},
		"undecryptable is no head":   {candidates: []*nostr.Event{value, undecryptable}, head: value, unreadable: 1, latest: 700, text: "new"},
		"forged, no payload":         {candidates: []*nostr.Event{forgedNoPayload, value}, head: value, unreadable: 1, latest: 200, text: "new"},
		"older ones are not counted": {candidates: []*nostr.Event{p.sealRaw("mem/a", "?", 50), value}, head: value, latest: 200, text: "new"},
		"others' are outside": {candidates: []*nostr.Event{stranger.write("mem/a", "s", 999), otherOwner.write("mem/a", "o", 999), elsewhere, value},
			head: value, outside: 3, latest: 200, text: "new"},
		"only a forgery":       {candidates: []*nostr.Event{forged, forged}, unreadable: 1},
		"only garbled":         {candidates: []*nostr.Event{garbled}, unreadable: 1, latest: 500},
		"only without payload": {candidates: []*nostr.Event{noPayload}, unreadable: 1, latest: 600},
		"only another's":       {candidates: []*nostr.Event{stranger.write("mem/a", "s", 999)}, outside: 1},
		"only another slug":    {candidates: []*nostr.Event{elsewhere}, outside: 1},
		"only another kind":    {candidates: []*nostr.Event{{Kind: 1, PubKey: p.agent}}, outside: 1},
	} {
		before := slices.Clone(c.candidates)
		r, err := p.head("mem/a", c.candidates...)
		if !slices.Equal(before, c.candidates) {
			t.Errorf("%s: the candidates were moved", name)
		}
		if c.head == nil != (r.Head == nil) || r.Head != nil && r.Head.Event != c.head {
			t.Errorf("%s: head %+v", name, r.Head)
		}
		if want := c.head == nil && c.unreadable+c.outside > 0; errors.Is(err, ErrNothingReadable) != want || (err != nil) != want {
			t.Errorf("%s: error %v, want one: %v", name, err, want)
		}
		if r.Absent() != (c.head == nil && err == nil) {
			t.Errorf("%s: absent %v, error %v", name, r.Absent(), err)
		}
		if r.Unreadable != c.unreadable || len(r.Rejected) != c.unreadable || len(r.Outside) != c.outside || r.Latest != c.latest {
			t.Errorf("%s: %d unreadable, %d outside, latest %d", name, r.Unreadable, len(r.Outside), r.Latest)
		}
		if text, ok := r.Text(); text != c.text || ok != (c.head != nil && !c.tombstone) || r.Tombstone() != c.tombstone {
			t.Errorf("%s: text %q, %v", name, text, ok)
		}
		if c.head != nil && r.CreatedAt() != int64(c.head.CreatedAt) || c.head == nil && r.CreatedAt() != 0 {
			t.Errorf("%s: created at %d", name, r.CreatedAt())
		}
	}
}

// TestSelectHeadErrorNamesTheCause: the command line tells a wrong key from a
// relay that forges.
func TestSelectHeadErrorNamesTheCause(t *testing.T) {
	p, wrong := newPair(t, 1, 2), newPair(t, 1, 4)
	ev := p.write("mem/a", "x", 1)
	// The owner's own key is the wrong one, but the address was found.
	ev = p.signed(*changed(ev, func(ev *nostr.Event) { ev.Content = wrong.write("mem/a", "x", 1).Content }))
	if _, err := p.head("mem/a", ev); !errors.Is(err, ErrNothingReadable) || !errors.Is(err, ErrUnreadable) {
		t.Errorf("%v", err)
	}
	if _, err := p.head("mem/a", changed(ev, func(ev *nostr.Event) { ev.CreatedAt++ })); !errors.Is(err, ErrSignature) {
		t.Errorf("%v", err)
	}
}

// TestForgeryWithTheHeadsIDDoesNotHideIt: who drops duplicates by id alone
// keeps whichever came first.
func TestForgeryWithTheHeadsIDDoesNotHideIt(t *testing.T) {
	p := newPair(t, 1, 2)
	ev := p.write("mem/a", "true", 100)
	forgeries := []*nostr.Event{
		changed(ev, func(f *nostr.Event) { f.Sig = strings.Repeat("0", 128) }),
		changed(ev, func(f *nostr.Event) { f.Content = p.write("mem/a", "false", 100).Content }),
		changed(ev, func(f *nostr.Event) { f.CreatedAt = 1 << 40 }),
		changed(ev, func(f *nostr.Event) { f.Tags = append(f.Tags, nostr.Tag{"x"}) }),
		changed(ev, func(f *nostr.Event) { f.Sig = "" }),
	}
	for i := range forgeries {
		candidates := slices.Concat(forgeries[i:], []*nostr.Event{ev}, forgeries[:i])
		r, err := p.head("mem/a", candidates...)
		if text, _ := r.Text(); err != nil || text != "true" {
			t.Errorf("forgery %d first: %q, %v", i, text, err)
		}
	}
}
