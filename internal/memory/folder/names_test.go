package folder

import (
	"strings"
	"testing"

	"engramd/nips/nipae"
)

func TestSlugOf(t *testing.T) {
	for file, want := range map[string]string{
		"core.md":                          "core",
		"mem/people/ana.md":                "mem/people/ana",
		"notes.md":                         "mem/notes",
		"Mem/My Notes (2).md":              "mem/my-notes-2",
		"mem/Caf\u00e9.md":                 "mem/cafe", // NFC
		"mem/Cafe\u0301.md":                "mem/cafe", // NFD
		"mem/con~.md":                      "mem/con",
		"mem/a_b.MD":                       "mem/a_b",
		"mem/-x-.md":                       "mem/x-",
		"mem/日本.md":                        "mem/c2a1fa46",
		"mem/" + strings.Repeat("a", 64):   "mem/" + strings.Repeat("a", 61), // the suffix is cut off
		"mem/" + strings.Repeat("b", 64):   "mem/" + strings.Repeat("b", 61),
		"mem/..foo/bar baz.md":             "mem/foo/bar-baz",
		"mem/C:\\x.md":                     "mem/c-x",
		"mem/two  spaces\tand\u00a0tab.md": "mem/two-spaces-and-tab",
	} {
		got, err := SlugOf(file)
		if strings.Contains(file, "日本") {
			if err != nil || len(got) != len("mem/12345678") {
				t.Errorf("%s: %q, %v", file, got, err)
			}
			continue
		}
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", file, got, err, want)
		}
	}
	long, err := SlugOf("mem/" + strings.Repeat("x", 200) + ".md")
	if err != nil || len(long) != len("mem/")+64 {
		t.Errorf("a long name: %q, %v", long, err)
	}
	if _, err := SlugOf(strings.Repeat("long-folder-name/", 40) + "x.md"); err == nil {
		t.Error("a path that is too long for a slug has one")
	}
}

// TestPathsLeadBack: the file of a slug leads back to the slug, on every
// system.
func TestPathsLeadBack(t *testing.T) {
	for _, s := range []nipae.Slug{"core", "mem/index", "mem/con", "mem/lpt1/aux", "mem/com10", "mem/a/b-c_d", "mem/conflict", "mem/0"} {
		p := PathOf(s)
		if got, err := SlugOf(p); err != nil || got != s || !isText(p) {
			t.Errorf("%s: %s leads to %q, %v", s, p, got, err)
		}
		for part := range strings.SplitSeq(strings.TrimSuffix(p, suffix), "/") {
			if isDevice(part) {
				t.Errorf("%s: %s is a device", s, p)
			}
		}
	}
}

func FuzzSlugOf(f *testing.F) {
	f.Add("mem/My Notes.md")
	f.Fuzz(func(t *testing.T, name string) {
		if !strings.HasSuffix(name, suffix) {
			name += suffix
		}
		s, err := SlugOf(name)
		if err != nil {
			return
		}
		if again, err := SlugOf(PathOf(s)); err != nil || again != s {
			t.Errorf("%q: %s leads to %s, %v", name, s, again, err)
		}
	})
}
