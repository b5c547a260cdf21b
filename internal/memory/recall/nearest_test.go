package recall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"engramd/nips/frontmatter"
)

func TestLikeness(t *testing.T) {
	long := strings.Repeat("one boat and another harbour. ", 60)
	for _, tt := range []struct {
		a, b string
		want float64
	}{
		{"The boat was painted blue.", "Paint boats: blue!", 1},
		{"boat", "boat", 1},
		{"", "", 0},
		{"the of and", "the of and", 0},
		{"alpha beta gamma", "alpha beta gamma delta", 0.3}, // few words say little
		{"a1 a2 a3 a4 a5 a6 a7 a8 a9 b1", "a1 a2 a3 a4 a5 c6 c7 c8 c9 d1", 0.5},
		{"a1 a2 a3 a4 a5 a6 a7 a8 a9 b1", "d1 d2", 0},
		{"quay mole pier", long + "\n\n# Stones\n\nquay mole pier", 0.3}, // the section counts, with its heading
	} {
		if got := Likeness(tt.a, tt.b); math.Abs(got-tt.want) > 0.001 {
			t.Errorf("%.30q and %.30q: %.3f, want %.3f", tt.a, tt.b, got, tt.want)
		}
	}
}

// The nearest is what comparing with each would find, in any state, and without what
// was removed.
func TestNearestIsThatOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	x := New()
	say := func(n int) string {
		var words []string
		for range n {
			words = append(words, fmt.Sprintf("w%dq", r.IntN(60)))
		}
		return strings.Join(words, " ")
	}
	texts := map[string]string{}
	for i := range 150 {
		slug := fmt.Sprintf("mem/n/%03d", i)
		texts[slug] = say(3 + r.IntN(200))
		if i%5 == 0 {
			texts[slug] = "---\nstate: archived\ndescription: " + say(5) + "\n---\n" + texts[slug]
		}
		if err := x.Put(Of(slug, frontmatter.Parse(texts[slug]), time.Unix(1, 0))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		slug := fmt.Sprintf("mem/n/%03d", i*7)
		x.Remove(slug)
		delete(texts, slug)
	}
	at := func(slug string) (string, bool) { s, ok := texts[slug]; return s, ok }
	var all []map[string]bool
	for _, other := range texts {
		all = append(all, documentSets(other)...)
	}
	for range 100 {
		text := say(3 + r.IntN(150))
		slug, got := x.Nearest(text, at)
		best := 0.
		for _, own := range sectionSets(text) {
			for _, there := range all {
				best = max(best, like(there, own))
			}
		}
		if math.Abs(got-best) > 1e-9 || (best > 0) != (slug != "") {
			t.Fatalf("%s has %.4f, and one has %.4f", slug, got, best)
		}
	}
	if slug, got := x.Nearest("nothing of the kind", at); slug != "" || got != 0 {
		t.Errorf("%s has %.2f", slug, got)
	}
}

// Many long texts that have most of the words do not hide the short one that says the
// same.
func TestNearestIsNotHiddenByMany(t *testing.T) {
	x := New()
	say := func(from, to int) string {
		var words []string
		for i := from; i < to; i++ {
			words = append(words, fmt.Sprintf("w%dq", i))
		}
		return strings.Join(words, " ")
	}
	texts := map[string]string{"mem/short": say(0, 5) + " " + say(20, 25)}
	for i := range 500 {
		texts[fmt.Sprintf("mem/long/%d", i)] = say(4, 10) + " " + say(100*i+100, 100*i+160)
	}
	for slug, text := range texts {
		if err := x.Put(Of(slug, frontmatter.Parse(text), time.Unix(1, 0))); err != nil {
			t.Fatal(err)
		}
	}
	slug, like := x.Nearest(say(0, 10), func(slug string) (string, bool) { s, ok := texts[slug]; return s, ok })
	if slug != "mem/short" || like < 0.45 {
		t.Errorf("the nearest is %s with %.2f", slug, like)
	}
}
