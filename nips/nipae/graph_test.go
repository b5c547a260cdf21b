package nipae

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// engram is one without a signature: the graph looks at bodies only.
func engram(t testing.TB, s Slug, text string) Engram {
	t.Helper()
	ev := &nostr.Event{ID: string(s), CreatedAt: 1}
	if s.IsCore() {
		return Engram{Event: ev, Body: NewProfile(text)}
	}
	return Engram{Event: ev, Body: memory(t, s, text)}
}

func TestReach(t *testing.T) {
	gone := engram(t, "mem/gone", "[[mem/a]]")
	gone.Body = gone.Body.Tombstoned()
	g := Reach([]Engram{
		engram(t, "mem/b", "[[mem/c]] [[mem/a]] [[mem/b]]"),
		engram(t, "mem/lonely", "[[core]] [[mem/island]]"),
		engram(t, "mem/island", "[[mem/lonely]] [[mem/a]]"),
		gone,
		engram(t, Core, "[[mem/b]] [[mem/nowhere]] [[mem/gone]]"),
		engram(t, "mem/a", "[[core]]"),
		engram(t, "mem/c", "[[mem/a]] [[mem/nowhere]]"),
	})
	want := Graph{
		Nodes: []Node{
			{Core, []Slug{"mem/b", "mem/nowhere", "mem/gone"}, []Slug{"mem/a", "mem/lonely"}, 0},
			{"mem/a", []Slug{Core}, []Slug{"mem/b", "mem/c", "mem/island"}, 2},
			{"mem/b", []Slug{"mem/c", "mem/a", "mem/b"}, []Slug{Core, "mem/b"}, 1},
			{"mem/c", []Slug{"mem/a", "mem/nowhere"}, []Slug{"mem/b"}, 2},
			{"mem/island", []Slug{"mem/lonely", "mem/a"}, []Slug{"mem/lonely"}, -1},
			{"mem/lonely", []Slug{Core, "mem/island"}, []Slug{"mem/island"}, -1},
		},
		Orphans:  []Slug{"mem/island", "mem/lonely"},
		Dangling: []Reference{{Core, "mem/nowhere"}, {Core, "mem/gone"}, {"mem/c", "mem/nowhere"}},
	}
	if !reflect.DeepEqual(g, want) {
		t.Errorf("%+v\nwant\n%+v", g, want)
	}
	if !g.Reachable(Core) || !g.Reachable("mem/c") || g.Reachable("mem/lonely") || g.Reachable("mem/gone") {
		t.Error("Reachable says otherwise than Depth")
	}
	if _, ok := g.Node("mem/gone"); ok {
		t.Error("a tombstone is a record")
	}
}

func TestReachWithoutCore(t *testing.T) {
	g := Reach([]Engram{engram(t, "mem/b", "[[mem/a]] [[core]]"), engram(t, "mem/a", "")})
	if !equalSlugs(g.Orphans, "mem/a", "mem/b") || !reflect.DeepEqual(g.Dangling, []Reference{{"mem/b", Core}}) {
		t.Errorf("%+v", g)
	}
	if empty := Reach(nil); len(empty.Nodes)+len(empty.Orphans)+len(empty.Dangling) != 0 {
		t.Errorf("%+v", empty)
	}
}

func TestReachTakesTheNewest(t *testing.T) {
	p := newPair(t, 1, 2)
	var all []Engram
	for _, ev := range []*nostr.Event{p.write(Core, "[[mem/a]]", 2), p.write(Core, "", 1), p.write("mem/a", "", 5), p.remove("mem/b", 8), p.write("mem/b", "", 7)} {
		e, err := p.open(ev)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	for range 2 {
		if g := Reach(all); len(g.Nodes) != 2 || !g.Reachable("mem/a") {
			t.Errorf("%+v", g)
		}
		slices.Reverse(all)
	}
}

// TestReachAgainstFixpoint compares with the plainest reading of the
// definition, on random graphs.
func TestReachAgainstFixpoint(t *testing.T) {
	for seed := range uint64(50) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			n := 1 + random.IntN(30)
			name := func(i int) Slug {
				if i == 0 {
					return Core
				}
				return Slug(fmt.Sprintf("mem/%d", i))
			}
			links := map[Slug][]Slug{}
			var engrams []Engram
			for i := range n {
				text := ""
				for range random.IntN(3) {
					to := name(random.IntN(n + 3))
					text += "[[" + string(to) + "]]"
					links[name(i)] = append(links[name(i)], to)
				}
				engrams = append(engrams, engram(t, name(i), text))
			}
			random.Shuffle(n, func(i, j int) { engrams[i], engrams[j] = engrams[j], engrams[i] })
			reached := map[Slug]bool{Core: true}
			for range n + 3 {
				for from := range reached {
					for _, to := range links[from] {
						reached[to] = true
					}
				}
			}
			g := Reach(engrams)
			for i := range n {
				if s := name(i); g.Reachable(s) != reached[s] || slices.Contains(g.Orphans, s) == reached[s] {
					t.Errorf("%s: reachable %v, want %v", s, g.Reachable(s), reached[s])
				}
			}
		})
	}
}
