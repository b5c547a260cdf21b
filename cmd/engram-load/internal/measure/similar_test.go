package measure

import (
	"slices"
	"strings"
	"testing"

	"engramd/internal/memory/recall"
)

// A text that says again, or otherwise, what a unit says is found; one that only has
// the same subject is not.
func TestSimilar(t *testing.T) {
	set := Synthetic(60, 5)
	m := &set.Memories[0]
	x, err := BuildIndex(m)
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
}
