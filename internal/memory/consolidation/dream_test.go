package consolidation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/memory/recall/answer"
)

var dreamNow = time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)

// viewOf makes a view of texts by slug.
func viewOf(t testing.TB, texts map[string]string) answer.View {
	t.Helper()
	var all []answer.Held
	for slug, text := range texts {
		all = append(all, answer.Held{Head: answer.Head{Slug: slug, Size: len(text), UpdatedAt: dreamNow.Unix()}, Text: text})
	}
	slices.SortFunc(all, func(a, b answer.Held) int {
		if (a.Slug == "core") != (b.Slug == "core") {
			if a.Slug == "core" {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Slug, b.Slug)
	})
	s, err := answer.Load(all, answer.State{AsOf: dreamNow})
	if err != nil {
		t.Fatal(err)
	}
	return s.(answer.View)
}

// textsOf gives what is in a map, as writers ask for it.
func textsOf(texts map[string]string) Texts {
	return func(slug string) (string, string, bool) {
		s, ok := texts[slug]
		return s, Hash(s), ok
	}
}

// library makes units of ten topics, each with words of its own.
func library(n int) map[string]string {
	r := rand.New(rand.NewPCG(4, 4))
	texts := map[string]string{}
	for i := range n {
		var words []string
		for range 12 {
			words = append(words, fmt.Sprintf("w%dq", r.IntN(4000)))
		}
		texts[fmt.Sprintf("mem/topic-%d/u%03d", i%10, i)] = fmt.Sprintf("---\nsalience: %.1f\n---\n%s", float64(i%11)/10, strings.Join(words, " "))
	}
	return texts
}

// drawnOf are the slugs that a dream drew.
func drawnOf(p Plan) []string {
	var all []string
	for _, u := range p.Units {
		if u.Role == Drawn {
			all = append(all, u.Slug)
		}
	}
	return all
}

// A dream draws five, never the same five, of two topics at least; after 200 of them
// over 500 units each had its turn, and those that matter had it sooner.
func TestTwoHundredDreamsOverFiveHundredUnits(t *testing.T) {
	units, dreams, memories := 500, 200, uint64(5)
	if testing.Short() {
		units, dreams, memories = 100, 40, 1
	}
	texts := library(units)
	v := viewOf(t, texts)
	for first := range memories {
		dreamt, seen, last := map[string]Dreamt{}, map[string]bool{}, []string(nil)
		early, count := 0., 0
		for i := range dreams {
			at := dreamNow.Add(time.Duration(i) * time.Hour)
			p, err := PrepareDream(v, DreamOptions{Now: at, Seed: first<<32 + uint64(i), Dreamt: dreamt})
			if err != nil {
				t.Fatal(err)
			}
			five := drawnOf(p)
			slices.Sort(five)
			if len(slices.Compact(slices.Clone(five))) != DreamUnits {
				t.Fatalf("drew %v", five)
			}
			key := strings.Join(five, " ")
			if seen[key] {
				t.Fatalf("drew %s twice", key)
			}
			seen[key] = true
			if slices.ContainsFunc(five, func(s string) bool { return slices.Contains(last, s) }) {
				t.Fatalf("drew %v after %v", five, last)
			}
			last = five
			topics := map[string]bool{}
			for _, s := range five {
				topics[Topics(s, nil)[0]] = true
				dreamt[s] = Dreamt{dreamt[s].Times + 1, at}
				if i < dreams*3/20 {
					d := unitOf(texts[s])
					early += d.Salience
					count++
				}
			}
			if len(topics) < 2 {
				t.Fatalf("drew %v of one topic", five)
			}
		}
		if len(dreamt) != units {
			t.Errorf("%d of %d units were drawn in %d dreams", len(dreamt), units, dreams)
		}
		if mean := early / float64(count); mean < 0.58 && units == 500 { // of all it is 0.5
			t.Errorf("the salience of what is drawn first is %.2f", mean)
		}
		for s, d := range dreamt {
			if d.Times > 4 {
				t.Errorf("%s was drawn %d times", s, d.Times)
			}
		}
	}
}

// Who comes new has a turn soon, and not all turns.
func TestANewcomerIsDrawnButNotAlways(t *testing.T) {
	texts := library(100)
	dreamt := map[string]Dreamt{}
	for s := range texts {
		dreamt[s] = Dreamt{10, dreamNow.Add(-time.Hour)}
	}
	texts["mem/new/one"] = "---\nsalience: 0\n---\nwhat was not there before"
	v := viewOf(t, texts)
	n := 0
	for i := range 40 {
		at := dreamNow.Add(time.Duration(i) * time.Hour)
		p, err := PrepareDream(v, DreamOptions{Now: at, Seed: uint64(i), Dreamt: dreamt})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range drawnOf(p) {
			if s == "mem/new/one" {
				n++
			}
			dreamt[s] = Dreamt{dreamt[s].Times + 1, at}
		}
	}
	if n < 1 || n > 8 {
		t.Errorf("it was drawn in %d of 40 dreams", n)
	}
}

// The same seed draws the same, another one others, and the plan says which.
func TestADreamIsSeeded(t *testing.T) {
	v := viewOf(t, library(60))
	draw := func(seed uint64) Plan {
		p, err := PrepareDream(v, DreamOptions{Now: dreamNow, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b, c := draw(7), draw(7), draw(8)
	if a.ID != b.ID || a.Seed != 7 || a.Kind != Dream || !slices.Equal(drawnOf(a), drawnOf(b)) {
		t.Errorf("%+v and %+v", a, b)
	}
	if a.ID == c.ID || slices.Equal(drawnOf(a), drawnOf(c)) {
		t.Errorf("another seed draws %v too", drawnOf(c))
	}
}

// Only what may come into a context unasked is drawn, and what says what is known.
func TestWhatIsNeverDrawn(t *testing.T) {
	never := map[string]string{
		"core":              "I am Sami.",
		"mem/narrative":     "---\ntype: narrative\n---\nI look after boats.",
		"mem/sys/plans/p-1": "{}",
		"mem/proposals/x":   "do this",
		"mem/a/episode":     "---\ntype: episodic\n---\nIt rained.",
		"mem/a/done":        "---\ntype: episodic\nconsolidated: 2026-11-20T00:00:00Z\n---\nIt rained again.",
		"mem/a/intention":   "---\ntype: prospective\ndue: 2026-12-01\n---\nCall Ana.",
		"mem/a/insight":     "---\ntype: insight\n---\nRain and boats.",
		"mem/a/archived":    "---\nstate: archived\n---\nOld.",
		"mem/a/superseded":  "---\nstate: superseded\n---\nWrong.",
		"mem/a/external":    "---\ntrust: external\n---\nObey.",
		"mem/a/garbled":     "---\ntrust: very much\n---\nObey.",
		"mem/a/empty":       "---\ntags: [x]\n---\n",
	}
	texts := map[string]string{"mem/b/one": "one", "mem/b/two": "two", "mem/c/three": "---\ntrust: told\n---\nthree", "mem/c/four": "---\ntype: procedural\n---\nfour", "mem/c/five": "---\ntrust: derived\n---\nfive"}
	want := slices.Sorted(func(yield func(string) bool) {
		for s := range texts {
			if !yield(s) {
				return
			}
		}
	})
	for s, text := range never {
		texts[s] = text
	}
	v := viewOf(t, texts)
	for seed := range uint64(50) {
		p, err := PrepareDream(v, DreamOptions{Now: dreamNow, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if five := drawnOf(p); !slices.Equal(slices.Sorted(slices.Values(five)), want) {
			t.Fatalf("drew %v", five)
		}
		if last := p.Units[len(p.Units)-1]; last.Role != NarrativeRole || last.Slug != NarrativeSlug || last.Hash != Hash(never[NarrativeSlug]) {
			t.Fatalf("the narrative is not shown: %+v", last)
		}
	}
}

func TestDreamless(t *testing.T) {
	for name, texts := range map[string]map[string]string{
		"nothing":    {},
		"too few":    {"mem/a/1": "x", "mem/b/2": "y", "mem/c/3": "z", "mem/d/4": "w"},
		"one topic":  {"mem/a/1": "x", "mem/a/2": "y", "mem/a/3": "z", "mem/a/4": "w", "mem/a/5": "v", "mem/a/6": "u"},
		"one by tag": {"mem/a/1": "---\ntags: [x]\n---\na", "mem/b/2": "---\ntags: [x]\n---\na", "mem/c/3": "---\ntags: [X]\n---\na", "mem/d/4": "---\ntags: ['#x']\n---\na", "mem/e/5": "---\ntags: x\n---\na"},
	} {
		if _, err := PrepareDream(viewOf(t, texts), DreamOptions{Now: dreamNow}); !errors.Is(err, ErrDreamless) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One unit of another topic is enough, and it is in each dream then; so is a pair that
// is apart where all others go with both.
func TestTwoTopicsWhereTheyAreRare(t *testing.T) {
	rare := map[string]string{"mem/b/odd": "odd"}
	pair := map[string]string{"mem/b/odd": "odd", "mem/c/even": "even"}
	for i := range 30 {
		rare[fmt.Sprintf("mem/a/%d", i)] = "x"
		pair[fmt.Sprintf("mem/a/%d", i)] = "---\ntags: [b, c]\n---\nx"
	}
	for seed := range uint64(100) {
		for name, texts := range map[string]map[string]string{"rare": rare, "pair": pair} {
			dreamt := map[string]Dreamt{"mem/b/odd": {100, dreamNow}, "mem/c/even": {100, dreamNow}}
			p, err := PrepareDream(viewOf(t, texts), DreamOptions{Now: dreamNow, Seed: seed, Dreamt: dreamt})
			if err != nil {
				t.Fatal(err)
			}
			if five := drawnOf(p); len(five) != 5 || !slices.Contains(five, "mem/b/odd") || name == "pair" && !slices.Contains(five, "mem/c/even") {
				t.Fatalf("%s: drew %v", name, five)
			}
		}
	}
}

func TestTopics(t *testing.T) {
	for _, tt := range []struct {
		slug string
		tags []string
		want string
	}{
		{"mem/projects/atlas/storage", nil, "projects/atlas"},
		{"mem/projects/atlas/storage/why", nil, "projects/atlas"},
		{"mem/projects/x-org/ana/atlas-1a2b3c4d/storage/why", nil, "projects/x-org/ana/atlas-1a2b3c4d"},
		{"mem/projects/x-org/ana/boats-1a2b3c4d/paint", nil, "projects/x-org/ana/boats-1a2b3c4d"},
		{"mem/people/ana", nil, "people"},
		{"mem/tea", nil, "tea"},
		{"mem/atlas-storage", []string{"#DB", " cost "}, "atlas,db,cost"},
		{"mem/journal/2026/11/22/0602-4f1c22ab", nil, "journal"},
		{"mem/notes/2026", nil, "notes"},
	} {
		if got := strings.Join(Topics(tt.slug, tt.tags), ","); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.slug, got, tt.want)
		}
	}
}

func TestDreamDue(t *testing.T) {
	h := time.Hour
	for _, tt := range []struct {
		name  string
		ago   time.Duration
		since int
		w     DreamWhen
		want  bool
	}{
		{"a moment ago", time.Minute, 0, DreamWhen{}, false},
		{"49 units", 3 * h, 49, DreamWhen{}, false},
		{"50 units", time.Minute, 50, DreamWhen{}, true},
		{"four hours", 4 * h, 0, DreamWhen{}, true},
		{"less", 4*h - 1, 0, DreamWhen{}, false},
		{"another machine's clock is ahead", -time.Minute, 0, DreamWhen{}, false},
		{"a clock was wrong by years", -5000 * h, 0, DreamWhen{}, true},
		{"own figures", 2 * h, 3, DreamWhen{Units: 4, Every: 3 * h}, false},
		{"own figures, units", 2 * h, 4, DreamWhen{Units: 4, Every: 3 * h}, true},
		{"never by units", time.Minute, 1000, DreamWhen{Units: -1}, false},
		{"never", 5000 * h, 1000, DreamWhen{Units: -1, Every: -1}, false},
	} {
		if got := DreamDue(dreamNow, dreamNow.Add(-tt.ago), tt.since, tt.w); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if !DreamDue(dreamNow, time.Time{}, 0, DreamWhen{}) {
		t.Error("who never dreamt is offered none")
	}
	if last := LastDream(dreamNow, map[string]Dreamt{"a": {1, dreamNow.Add(-h)}, "b": {1, dreamNow}, "of a clock far ahead": {1, dreamNow.AddDate(73, 0, 0)}}); !last.Equal(dreamNow) || !LastDream(dreamNow, nil).IsZero() {
		t.Errorf("the last was at %v", last)
	}
}

func TestNewUnits(t *testing.T) {
	v := viewOf(t, map[string]string{
		"core":          "I am new.",
		"mem/a/plain":   "without a date: as new as its last change",
		"mem/a/new":     "---\ncreated: 2026-11-23T05:30:00Z\n---\nnew",
		"mem/a/how":     "---\ntype: procedural\ncreated: 2026-11-23T05:30:00Z\n---\nhow",
		"mem/a/old":     "---\ncreated: 2026-11-20T05:30:00Z\n---\nchanged now, not new",
		"mem/a/note":    "---\ntype: episodic\n---\nx",
		"mem/a/theirs":  "---\ntrust: external\n---\nx",
		"mem/a/gone":    "---\nstate: archived\n---\nx",
		"mem/sys/a":     "x",
		"mem/narrative": "---\ntype: narrative\n---\nx",
	})
	if n := NewUnits(v, dreamNow.Add(-time.Hour)); n != 3 {
		t.Errorf("%d are new", n)
	}
	if n := NewUnits(v, dreamNow); n != 0 {
		t.Errorf("%d are newer than now", n)
	}
}
