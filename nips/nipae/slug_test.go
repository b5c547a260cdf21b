package nipae

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// slugGrammar is the grammar as NIP-AE writes it, but for the length.
var slugGrammar = regexp.MustCompile(`^mem/[a-z0-9][a-z0-9_-]{0,63}(/[a-z0-9][a-z0-9_-]{0,63})*$`)

func validSlug(s string) bool {
	return s == "core" || len(s) <= 255 && slugGrammar.MatchString(s) && !strings.HasSuffix(s, "\n")
}

// longSlug is a slug of n bytes, n ≥ 6.
func longSlug(n int) string {
	s := "mem"
	for len(s) < n {
		s += "/" + strings.Repeat("a", min(64, n-len(s)-1))
	}
	return s[:n]
}

func TestParseSlug(t *testing.T) {
	for s, want := range map[string]bool{
		"core":                              true,
		"mem/example":                       true,
		"mem/notes/2026-05-12":              true,
		"mem/0":                             true,
		"mem/a_-":                           true,
		"mem/mem/core":                      true,
		"mem/core":                          true,
		"mem/" + strings.Repeat("a", 64):    true,
		longSlug(255):                       true,
		"":                                  false,
		"Core":                              false,
		"core ":                             false,
		"core\n":                            false,
		"core/x":                            false,
		"example":                           false,
		"mem":                               false,
		"mem/":                              false,
		"mem//a":                            false,
		"mem/a/":                            false,
		"/mem/a":                            false,
		"mem/-a":                            false,
		"mem/_a":                            false,
		"mem/A":                             false,
		"mem/a b":                           false,
		"mem/a.b":                           false,
		"mem/a\n":                           false,
		"mem/ä":                             false,
		"mem/\xff":                          false,
		"mem/a\x00":                         false,
		"MEM/a":                             false,
		"mem/a/" + strings.Repeat("a", 65):  false,
		"mem/" + strings.Repeat("a", 65):    false,
		longSlug(256):                       false,
		"mem/" + strings.Repeat("a/", 1000): false,
	} {
		got, err := ParseSlug(s)
		if (err == nil) != want || validSlug(s) != want {
			t.Errorf("%q: %v, want valid %v", s, err, want)
		}
		if err == nil && string(got) != s {
			t.Errorf("%q became %q", s, got)
		}
		if err != nil && (!errors.Is(err, ErrSlug) || got != "") {
			t.Errorf("%q: %q with error %v", s, got, err)
		}
		if err != nil && len(s) > 5 && strings.Contains(err.Error(), s) {
			t.Errorf("the error repeats the slug: %v", err)
		}
	}
}

func TestNormalizeSlug(t *testing.T) {
	for s, want := range map[string]Slug{
		"core":          Core,
		"foo":           "mem/foo",
		"mem/foo":       "mem/foo",
		"a/b-c/d_e":     "mem/a/b-c/d_e",
		"mem":           "mem/mem",
		"core/x":        "mem/core/x",
		"":              "",
		"mem/":          "",
		"Foo":           "",
		"Core":          "",
		" foo":          "",
		"/foo":          "",
		"foo/":          "",
		"../etc/passwd": "",
	} {
		got, err := NormalizeSlug(s)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", s, got, err, want)
		}
		if err != nil && !errors.Is(err, ErrSlug) {
			t.Errorf("%q: %v is not ErrSlug", s, err)
		}
	}
	if got, err := NormalizeSlug(longSlug(255)[4:]); err != nil || len(got) != 255 {
		t.Errorf("a name that makes a slug of 255 bytes: %v", err)
	}
	if _, err := NormalizeSlug(longSlug(256)[4:]); !errors.Is(err, ErrSlug) {
		t.Errorf("a name that makes a slug of 256 bytes: %v", err)
	}
}

func TestIsCore(t *testing.T) {
	if !Core.IsCore() || Slug("mem/core").IsCore() || Slug("").IsCore() {
		t.Error("core, and only core, is core")
	}
}
