package nipae

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestReferences(t *testing.T) {
	for text, want := range map[string][]Slug{
		"":                                nil,
		"no links":                        nil,
		"[[mem/a]]":                       {"mem/a"},
		"[[core]]":                        {Core},
		"see [[mem/b]], [[mem/a/b-c_d]].": {"mem/b", "mem/a/b-c_d"},
		"[[mem/b]] [[mem/a]] [[mem/b]]":   {"mem/b", "mem/a"},
		"[[mem/a]][[mem/b]]":              {"mem/a", "mem/b"},
		"[[[mem/a]]]":                     {"mem/a"},
		"[[[[mem/a]]]]":                   {"mem/a"},
		"[[mem/a[[mem/b]]":                {"mem/b"},
		"[[mem/a] [[mem/b]]":              {"mem/b"},
		"`[[mem/a]]` \\[[mem/b]] <!-- [[mem/c]] -->": {"mem/a", "mem/b", "mem/c"},
		"é[[mem/a]]\U0001F9E0[[mem/b]]":              {"mem/a", "mem/b"},
		"\xff[[mem/a]]\xff":                          {"mem/a"},
		"mem/a core":                                 nil,
		"[mem/a]":                                    nil,
		"[[a]]":                                      nil,
		"[[mem/A]]":                                  nil,
		"[[ mem/a ]]":                                nil,
		"[[mem/a|label]]":                            nil,
		"[[mem/a.md]]":                               nil,
		"[[mem/a\n]]":                                nil,
		"[[]]":                                       nil,
		"[[mem/]]":                                   nil,
		"[[mem//a]]":                                 nil,
		"[[mem/a":                                    nil,
		"[[mem/a]":                                   nil,
		"[[mem/a] ]":                                 nil,
		"[ [mem/a]]":                                 nil,
		"[[" + longSlug(255) + "]]":                  {Slug(longSlug(255))},
		"[[" + longSlug(256) + "]]":                  nil,
		"[[mem/" + strings.Repeat("a", 65) + "]]": nil,
	} {
		if got := References(text); !equalSlugs(got, want...) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// referencesByGrammar is References as the grammar says it.
func referencesByGrammar(text string) (out []Slug) {
	seen := map[string]bool{}
	for i := range text {
		m := linkGrammar.FindStringSubmatch(text[i:])
		if m != nil && len(m[1]) <= 255 && !seen[m[1]] {
			seen[m[1]] = true
			out = append(out, Slug(m[1]))
		}
	}
	return out
}

var linkGrammar = regexp.MustCompile(`^\[\[(core|mem/[a-z0-9][a-z0-9_-]{0,63}(?:/[a-z0-9][a-z0-9_-]{0,63})*)\]\]`)

func TestReferencesTakesLinearTime(t *testing.T) {
	for name, text := range map[string]string{
		"brackets":        strings.Repeat("[", 4<<20),
		"opened":          strings.Repeat("[[mem/a", 1<<19),
		"one long":        "[[mem/" + strings.Repeat("a/", 2<<20),
		"all well-formed": strings.Repeat("[[mem/a]]", 1<<19),
	} {
		started := time.Now()
		References(text)
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("%s: %d bytes took %v", name, len(text), took)
		}
	}
}
