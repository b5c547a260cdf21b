package recall_test

import (
	"slices"
	"strings"
	"testing"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/measure"
	"engramd/nips/frontmatter"
)

// A text that says again, or otherwise, what a unit says is told so; one that
// only has the same subject is not.
func TestSimilar(t *testing.T) {
	set := measure.Synthetic(60, 5)
	m := &set.Memories[0]
	x, err := measure.BuildIndex(m)
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, d := range m.Documents {
		bodies[d.Slug] = d.Body
	}
	texts := func(slug string) (string, bool) { b, ok := bodies[slug]; return b, ok }
	// The reports of one status and the hints of one project say the same again.
	said, found, first := 0, 0, 0
	for _, d := range m.Documents {
		own := strings.Split(d.Slug, "/")
		if own[1] != "status" && own[1] != "hint" {
			continue
		}
		said++
		similar := x.Similar(d.Slug, d.Body, texts, 5)
		at := slices.IndexFunc(similar, func(s recall.Similar) bool { return strings.HasPrefix(s.Slug, "mem/"+own[1]+"/"+own[2]+"/") })
		if at >= 0 {
			found++
		}
		if at == 0 {
			first++
		}
		if len(similar) > 5 || slices.ContainsFunc(similar, func(s recall.Similar) bool { return s.Slug == d.Slug }) {
			t.Errorf("%s: %+v", d.Slug, similar)
		}
	}
	if said != 300 || found != said || first != said {
		t.Errorf("%d of %d found, %d of them first", found, said, first)
	}
	// What only has the same subject is not similar, and neither is next to nothing.
	for _, text := range []string{"The logo of a new project is crimson, and it is the work of our office in Berlin.", "hello", "", "Status?"} {
		if got := x.Similar("mem/new", text, texts, 5); got != nil {
			t.Errorf("%q is similar to %+v", text, got)
		}
	}
	// The other way round: a unit that stands whole in a longer text; and what
	// does not hold any more is no match.
	l := map[string]string{"mem/tea": "Ana prefers green tea.", "mem/old": "---\nstate: superseded\n---\nAna prefers green tea."}
	y := recall.New()
	for slug, text := range l {
		if err := y.Put(recall.Of(slug, frontmatter.Parse(text), m.Now)); err != nil {
			t.Fatal(err)
		}
	}
	got := y.Similar("mem/people/ana", "Ana leads the Atlas team in Lisbon since May. She prefers green teas, sails on Sundays and reads maps.",
		func(slug string) (string, bool) { text, ok := l[slug]; return text, ok }, 5)
	if len(got) != 1 || got[0].Slug != "mem/tea" || got[0].Shared < 0.99 {
		t.Errorf("%+v", got)
	}
}
