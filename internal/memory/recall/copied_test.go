package recall

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// article makes paragraphs of words that are as frequent as in a language.
func article(seed uint64, paragraphs int) []string {
	r := rand.New(rand.NewPCG(seed, 1))
	words := rand.NewZipf(r, 1.1, 20, 1500)
	var all []string
	for range paragraphs {
		var b strings.Builder
		for range 70 {
			n := words.Uint64()
			fmt.Fprintf(&b, "w%c%c%co ", 'a'+rune(n%17), 'b'+rune(n/17%11), 'c'+rune(n/187))
		}
		all = append(all, strings.TrimSpace(b.String())+".")
	}
	return all
}

// A copy of several sections is one too, wherever it begins and ends; a long text
// of one's own that quotes one, or uses the same words, is none.
func TestCopiedFromSeveralSections(t *testing.T) {
	page := article(1, 12)
	l := library{"mem/web/1": "---\ntrust: external\n---\n" + strings.Join(page, "\n\n"), "mem/own": strings.Join(article(2, 12), "\n\n")}
	for seed := range uint64(20) {
		l[fmt.Sprint("mem/web/other", seed)] = "---\ntrust: external\n---\n" + strings.Join(article(100+seed, 12), "\n\n")
	}
	x := l.index(t)
	words := strings.Fields(strings.Join(page, " "))
	for name, text := range map[string]string{
		"whole":                   strings.Join(page, "\n\n"),
		"without paragraphs":      strings.Join(page, " "),
		"a few":                   strings.Join(page[3:6], "\n\n"),
		"from within a section":   strings.Join(words[37:500], " "),
		"with headings":           "# One\n\n" + page[0] + "\n\n# Two\n\n" + page[1] + "\n\n# Three\n\n" + page[2],
		"in another order":        strings.Join([]string{page[7], page[2], page[9]}, "\n\n"),
		"behind a word of mine":   "I read this today:\n\n" + strings.Join(page[:5], "\n\n"),
		"with words of my own":    strings.ReplaceAll(strings.Join(page[:5], "\n\n"), ".", " really."),
		"of another's at the end": strings.Join(page[:6], "\n\n") + "\n\n" + article(3, 1)[0],
	} {
		if slug, ok := x.CopiedFrom(text, l.texts); !ok || slug != "mem/web/1" {
			t.Errorf("%s: %v, %q", name, ok, slug)
		}
	}
	for name, text := range map[string]string{
		"my own":             strings.Join(article(4, 12), "\n\n"),
		"my own, long":       strings.Join(article(5, 60), "\n\n"),
		"a quoted section":   strings.Join(article(6, 4), "\n\n") + "\n\n" + page[0],
		"what another wrote": strings.Join(article(2, 12), "\n\n"),
		"half":               strings.Join(page[:6], "\n\n") + "\n\n" + strings.Join(article(7, 6), "\n\n"),
	} {
		if slug, ok := x.CopiedFrom(text, l.texts); ok {
			t.Errorf("%s is taken for a copy of %s", name, slug)
		}
	}
	for seed := range uint64(100) {
		if slug, ok := x.CopiedFrom(strings.Join(article(1000+seed, 6), "\n\n"), l.texts); ok {
			t.Errorf("%d is taken for a copy of %s", seed, slug)
		}
	}
}

// Notes of one form, a journal's say, share most of their words. That is no copy:
// the words stand in another order.
func TestNotesOfOneFormAreNoCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one := func(words string) string {
		all := strings.Fields(words)
		return all[r.IntN(len(all))]
	}
	day := func() string {
		var b strings.Builder
		b.WriteString("# Daily note\n\n## What I did\n\n")
		for range 2 + r.IntN(5) {
			fmt.Fprintf(&b, "- %s the %s %s of %s with %s\n", one("Fixed Reviewed Tested Deployed Documented Refactored"),
				one("login search billing export import sync backup"), one("page service job endpoint screen query"),
				one("Atlas Harbour Comet Willow"), one("Ana Ben Cleo Dana Eli"))
		}
		fmt.Fprintf(&b, "\n## What went wrong\n\n- %s\n\n## Tomorrow\n\n", strings.ReplaceAll(one("Nothing Flaky_tests_broke_the_build The_relay_was_slow"), "_", " "))
		for range 1 + r.IntN(3) {
			fmt.Fprintf(&b, "- %s the %s with %s\n", one("Finish Plan Discuss Write"), one("release migration report budget"), one("Ana Ben Cleo Dana Eli"))
		}
		return b.String()
	}
	l := library{}
	var last string
	for i := range 200 {
		last = day()
		l[fmt.Sprint("mem/imported/", i)] = "---\ntrust: external\n---\n" + last
	}
	x := l.index(t)
	taken := 0
	for range 200 {
		if _, ok := x.CopiedFrom(day(), l.texts); ok {
			taken++
		}
	}
	if taken > 2 {
		t.Errorf("%d of 200 notes are taken for copies", taken)
	}
	if _, ok := x.CopiedFrom(last, l.texts); !ok {
		t.Error("one that is a copy is not found")
	}
}
