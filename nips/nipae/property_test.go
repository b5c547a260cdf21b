package nipae

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// world is two agents, two owners, and what they wrote.
type world struct {
	random *rand.Rand
	pairs  []*pair
	slugs  []Slug
	// valid are the valid events per pair and slug; all are these and others.
	valid map[*pair]map[Slug][]*nostr.Event
	all   []*nostr.Event
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		random: rand.New(rand.NewPCG(seed, 7)),
		pairs:  []*pair{newPair(t, 11, 21), newPair(t, 11, 22), newPair(t, 12, 21), newPair(t, 12, 22)},
		slugs:  []Slug{Core, "mem/a", "mem/a/b", "mem/c"},
		valid:  map[*pair]map[Slug][]*nostr.Event{},
	}
	for _, p := range w.pairs {
		w.valid[p] = map[Slug][]*nostr.Event{}
		for _, s := range w.slugs {
			for range w.random.IntN(4) {
				w.write(p, s)
			}
			for range w.random.IntN(3) {
				w.all = append(w.all, w.spoilt(p, s))
			}
		}
	}
	return w
}

// write adds a valid version; few distinct times make ties likely.
func (w *world) write(p *pair, s Slug) {
	at := 100 + w.random.Int64N(3)
	var ev *nostr.Event
	if !s.IsCore() && w.random.IntN(3) == 0 {
		ev = p.remove(s, at)
	} else {
		ev = p.write(s, fmt.Sprintf("%d [[mem/a]]", w.random.IntN(100)), at)
	}
	w.valid[p][s] = append(w.valid[p][s], ev)
	w.all = append(w.all, ev)
}

// spoilt is an event that is not valid, and newer than the valid ones as often
// as not.
func (w *world) spoilt(p *pair, s Slug) *nostr.Event {
	at := 99 + w.random.Int64N(5)
	body := fmt.Sprintf(`{"slug":%q,"value":"v","profile":"p"}`, s)
	switch w.random.IntN(6) {
	case 0:
		return changed(p.write(s, "forged", at), func(ev *nostr.Event) { ev.Sig = strings.Repeat("1", 128) })
	case 1:
		return changed(p.write(s, "redated", at), func(ev *nostr.Event) { ev.CreatedAt += 2 })
	case 2:
		return p.sealRaw(s, strings.Replace(body, "{", `{"x":{"y":1,"y":1},`, 1), at)
	case 3:
		return p.sealRaw(s, strings.ToUpper(body), at)
	case 4:
		return p.sealRaw("mem/elsewhere", body, at)
	default:
		return p.signed(*changed(p.write(s, "", at), func(ev *nostr.Event) { ev.Content = ev.Content[4:] }))
	}
}

// relays deals the events to three relays, at least one copy each, some to
// several, and returns their answers one after the other, shuffled.
func (w *world) relays(events []*nostr.Event) (union []*nostr.Event) {
	for _, ev := range events {
		for range 1 + w.random.IntN(3) {
			// A copy, as it comes when every relay's answer is parsed.
			union = append(union, changed(ev, func(*nostr.Event) {}))
		}
	}
	w.random.Shuffle(len(union), func(i, j int) { union[i], union[j] = union[j], union[i] })
	return union
}

// plainHead is the head by definition: sort the valid ones, take the first.
func plainHead(valid []*nostr.Event) *nostr.Event {
	if len(valid) == 0 {
		return nil
	}
	sorted := slices.Clone(valid)
	slices.SortFunc(sorted, func(a, b *nostr.Event) int {
		if a.CreatedAt != b.CreatedAt {
			return int(b.CreatedAt - a.CreatedAt)
		}
		return strings.Compare(a.ID, b.ID)
	})
	return sorted[0]
}

// TestSameHeadEverywhere: whatever the order, the duplicates and the garbage
// between, each of the four pairs gets its own heads and nobody else's.
func TestSameHeadEverywhere(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newWorld(t, seed)
			for round := range 3 {
				union := w.relays(w.all)
				for n, p := range w.pairs {
					l := SelectHeads(p.key, p.agent, p.owner, union)
					for _, s := range w.slugs {
						want := plainHead(w.valid[p][s])
						name := fmt.Sprintf("round %d, pair %d, %s", round, n, s)
						r, err := p.head(s, union...)
						sameHead(t, name, r, err, want)
						r, err = l.At(p.key.Address(s))
						if want != nil {
							sameHead(t, name+", listed", r, err, want)
						} else if r.Head != nil {
							t.Errorf("%s, listed: a head that nobody wrote", name)
						}
					}
					w.checkListing(t, p, l)
				}
			}
		})
	}
}

func sameHead(t *testing.T, name string, r Reading, err error, want *nostr.Event) {
	t.Helper()
	switch {
	case want == nil && (r.Head != nil || err == nil):
		t.Errorf("%s: %+v, %v, want an error, as something was returned", name, r.Head, err)
	case want != nil && (err != nil || r.Head == nil):
		t.Errorf("%s: no head, %v, want %s", name, err, want.ID)
	case want != nil && r.Head.Event.ID != want.ID:
		t.Errorf("%s: head %s, want %s", name, r.Head.Event.ID, want.ID)
	}
}

// checkListing checks that the parts of the listing are the heads, once each.
func (w *world) checkListing(t *testing.T, p *pair, l Listing) {
	t.Helper()
	want := map[Slug]string{}
	for s, valid := range w.valid[p] {
		if head := plainHead(valid); head != nil {
			want[s] = head.ID
		}
	}
	listed := slices.Concat(l.Heads(), l.Tombstones)
	for _, e := range listed {
		if want[e.Slug()] != e.Event.ID {
			t.Errorf("%s: listed %s, want %q", e.Slug(), e.Event.ID, want[e.Slug()])
		}
	}
	if len(listed) != len(want) {
		t.Errorf("%d heads listed, want %d", len(listed), len(want))
	}
	for _, e := range l.Tombstones {
		if _, ok := e.Body.Text(); ok {
			t.Errorf("%s is no tombstone", e.Slug())
		}
	}
}

// TestHeadIsIndependentOfWhichRelaysAnswer: any set of answers that holds the
// head gives it, whatever else is late or missing.
func TestHeadIsIndependentOfWhichRelaysAnswer(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := newWorld(t, 100+seed)
			for _, p := range w.pairs {
				for _, s := range w.slugs {
					want := plainHead(w.valid[p][s])
					if want == nil {
						continue
					}
					for range 5 {
						some := []*nostr.Event{want}
						for _, ev := range w.all {
							if w.random.IntN(2) == 0 {
								some = append(some, ev)
							}
						}
						r, err := p.head(s, w.relays(some)...)
						sameHead(t, string(s), r, err, want)
					}
				}
			}
		})
	}
}

// TestWriterSupersedes: a write dated by NextCreatedAt from what was read is
// the head afterwards, also within one second.
func TestWriterSupersedes(t *testing.T) {
	p := newPair(t, 1, 2)
	var stored []*nostr.Event
	for i := range 20 {
		r, err := p.head("mem/a", stored...)
		if err != nil {
			t.Fatal(err)
		}
		at, err := NextCreatedAt(1000+int64(i/10), r.CreatedAt())
		if err != nil {
			t.Fatal(err)
		}
		written := p.write("mem/a", fmt.Sprint(i), at)
		stored = append(stored, written)
		if r, err = p.head("mem/a", stored...); err != nil || r.Head.Event != written {
			t.Fatalf("write %d is not the head: %v", i, err)
		}
	}
}
