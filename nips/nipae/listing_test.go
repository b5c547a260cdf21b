package nipae

import (
	"errors"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

func slugs(engrams []Engram) (out []Slug) {
	for _, e := range engrams {
		out = append(out, e.Slug())
	}
	return out
}

func equalSlugs(a []Slug, b ...Slug) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestSelectHeads(t *testing.T) {
	p := newPair(t, 1, 2)
	stranger, otherOwner := newPair(t, 3, 2), newPair(t, 1, 4)
	lost := p.sealRaw("mem/lost", "not a body", 70)
	forged := changed(p.write("mem/b", "old b", 10), func(ev *nostr.Event) { ev.CreatedAt = 999 })
	l := SelectHeads(p.key, p.agent, p.owner, []*nostr.Event{
		p.write("mem/z", "z", 10), p.write("mem/b", "b", 20), nil, forged, p.write("mem/b", "older b", 19),
		p.write(Core, "I", 5), p.write(Core, "I am", 6), p.remove("mem/gone", 40), p.write("mem/gone", "was here", 39),
		p.remove("mem/back", 40), p.write("mem/back", "is here", 41), lost, lost,
		stranger.write("mem/b", "no", 99), otherOwner.write("mem/b", "no", 99), p.signed(nostr.Event{Kind: 1, CreatedAt: 5}),
	})
	if l.Core == nil || l.Core.CreatedAt() != 6 {
		t.Errorf("core: %+v", l.Core)
	}
	if got := slugs(l.Memories); !equalSlugs(got, "mem/b", "mem/back", "mem/z") {
		t.Errorf("memories: %q", got)
	}
	if got := slugs(l.Tombstones); !equalSlugs(got, "mem/gone") {
		t.Errorf("tombstones: %q", got)
	}
	if got := slugs(l.Heads()); !equalSlugs(got, Core, "mem/b", "mem/back", "mem/z") {
		t.Errorf("heads: %q", got)
	}
	if len(l.Unreadable) != 1 || l.Unreadable[0].D != p.key.Address("mem/lost") || l.Unreadable[0].Latest != 70 ||
		l.Unreadable[0].Unreadable != 1 {
		t.Errorf("unreadable: %+v", l.Unreadable)
	}
	if l.Doubtful != 1 || len(l.Outside) != 3 {
		t.Errorf("%d doubtful, %d outside", l.Doubtful, len(l.Outside))
	}
	if err := l.Err(); err != nil {
		t.Errorf("some addresses were readable: %v", err)
	}
}

// TestListingWith: heads that are put into a listing stand there as if relays had shown them.
func TestListingWith(t *testing.T) {
	p := newPair(t, 1, 2)
	shown := []*nostr.Event{p.write("mem/a", "a", 10), p.remove("mem/gone", 11), p.write("mem/b", "b", 12), p.sealRaw("mem/lost", "?", 1)}
	known := []*nostr.Event{p.remove("mem/a", 20), p.write("mem/gone", "back", 21), p.write(Core, "I", 5), p.write("mem/lost", "found", 2), p.write("mem/new", "n", 1)}
	var heads []Engram
	for _, ev := range known {
		e, err := Open(p.key, p.agent, p.owner, ev)
		if err != nil {
			t.Fatal(err)
		}
		heads = append(heads, e)
	}
	l := SelectHeads(p.key, p.agent, p.owner, shown)
	got, want := l.With(heads), SelectHeads(p.key, p.agent, p.owner, slices.Concat(shown, known))
	if !equalSlugs(slugs(got.Heads()), slugs(want.Heads())...) || !equalSlugs(slugs(got.Tombstones), slugs(want.Tombstones)...) || len(got.Unreadable) != 0 || got.Doubtful != want.Doubtful {
		t.Errorf("%+v, want %+v", got, want)
	}
	if r, _ := l.At(p.key.Address("mem/a")); r.CreatedAt() != 10 {
		t.Error("the listing before is another one by that")
	}
}

func TestListingAt(t *testing.T) {
	p := newPair(t, 1, 2)
	l := SelectHeads(p.key, p.agent, p.owner, []*nostr.Event{
		p.write("mem/a", "a", 10), p.remove("mem/gone", 11), p.sealRaw(Core, "not a body", 12), newPair(t, 3, 2).write(Core, "", 1),
	})
	if r, err := l.At(p.key.Address("mem/a")); err != nil || r.CreatedAt() != 10 {
		t.Errorf("a memory: %+v, %v", r, err)
	}
	if r, err := l.At(p.key.Address("mem/gone")); err != nil || !r.Tombstone() || r.Absent() {
		t.Errorf("a tombstone: %+v, %v", r, err)
	}
	if r, err := l.At(p.key.Address(Core)); !errors.Is(err, ErrNothingReadable) || r.Latest != 12 {
		t.Errorf("an unreadable core: %+v, %v", r, err)
	}
	if r, err := l.At(p.key.Address("mem/none")); err != nil || !r.Absent() {
		t.Errorf("no record: %+v, %v", r, err)
	}
}

func TestListingErr(t *testing.T) {
	p := newPair(t, 1, 2)
	garbled := p.sealRaw("mem/a", "?", 1)
	foreign := newPair(t, 3, 2).write("mem/a", "x", 1)
	for name, c := range map[string]struct {
		candidates []*nostr.Event
		want       bool
	}{
		"nothing":                   {nil, false},
		"garbled":                   {[]*nostr.Event{garbled}, true},
		"foreign":                   {[]*nostr.Event{foreign}, true},
		"garbled beside a value":    {[]*nostr.Event{garbled, p.write("mem/b", "x", 1)}, false},
		"foreign beside tombstones": {[]*nostr.Event{foreign, p.remove("mem/b", 1)}, false},
		"garbled beside core":       {[]*nostr.Event{garbled, p.write(Core, "", 1)}, false},
	} {
		l := SelectHeads(p.key, p.agent, p.owner, c.candidates)
		if err := l.Err(); errors.Is(err, ErrNothingReadable) != c.want || (err != nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
		if r, err := l.At(p.key.Address("mem/none")); errors.Is(err, ErrNothingReadable) != c.want || r.Absent() == c.want {
			t.Errorf("%s: an address that is not there: %v, absent %v", name, err, r.Absent())
		}
	}
	var zero Listing
	if r, err := zero.At("x"); err != nil || !r.Absent() || zero.Err() != nil || len(zero.Heads()) != 0 {
		t.Error("the zero listing is not an empty memory")
	}
}
