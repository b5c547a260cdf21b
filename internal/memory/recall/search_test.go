package recall

import (
	"slices"
	"strings"
	"testing"
)

// A search finds whatever has one of its words, in any form, mistyped, or as a
// part of words.
func TestSearch(t *testing.T) {
	l := library{
		"mem/1":      "Ada prefers coffee to tea. The teapot is new.",
		"mem/2":      "The release of Atlas went wrong: E1234-xy in the log.",
		"mem/teapot": "made of iron",
		"mem/4":      "Der Fluß 漢字仮名 flows.",
		"mem/5":      "---\nstate: archived\n---\nKettles.",
	}
	x := l.index(t)
	for _, tt := range []struct{ query, want string }{
		{"favourite coffees", "mem/1"}, {"cofee", "mem/1"}, {"releas", "mem/2"}, {"atl", "mem/2"}, {"1234", "mem/2"}, {"eapo", "mem/1 mem/teapot"},
		{"go wrong", "mem/2"}, {"仮名", "mem/4"}, {"fluss", "mem/4"}, {"iron teapot", "mem/teapot mem/1"}, {`"coffee to tea"`, "mem/1"}, {`"tea to coffee"`, ""},
		{"zebra", ""}, {"te", ""}, {"kettle", ""}, {"coffee and a zebra in the zoo of a city that nobody names", "mem/1"},
	} {
		q := Query{Text: tt.query, Now: now}
		hits := x.Search(q, Recipe(), l.texts)
		var got []string
		for _, h := range hits {
			got = append(got, h.Slug)
			if strings.Contains(h.Slug, "teapot") {
				continue // found by its slug
			}
			text := l[h.Slug]
			at := x.Finder(q, Recipe()).Places(text)
			if len(at) == 0 || at[len(at)-1].At >= len(text) {
				t.Errorf("%q in %s: places %v", tt.query, h.Slug, at)
			}
		}
		if names := strings.Join(got, " "); names != tt.want && !(tt.query == "eapo" && len(got) == 2) {
			t.Errorf("%q finds %q, not %q", tt.query, names, tt.want)
		}
	}
	if at := x.Finder(Query{Text: "coffees teapot"}, Recipe()).Places(l["mem/1"]); !slices.Equal(at, []Place{{12, 0}, {31, 1}}) {
		t.Errorf("places %v", at)
	}
}

func FuzzPlaces(f *testing.F) {
	f.Add("the tea İstanbul ſ plan 漢字仮名", `tea "stanbul p" 漢字`)
	f.Add("\xff\xfe\u202eK K k", "k")
	f.Fuzz(func(t *testing.T, text, query string) {
		x := New()
		if err := x.Put(Document{Slug: "mem/x", Body: text}); err != nil {
			return
		}
		q := Query{Text: query}
		x.Search(q, Recipe(), func(string) (string, bool) { return text, true })
		last := -1
		for _, at := range x.Finder(q, Recipe()).Places(text) {
			if at.At <= last || at.At >= len(text) {
				t.Fatalf("place %v behind %d in %d bytes", at, last, len(text))
			}
			last = at.At
		}
	})
}
