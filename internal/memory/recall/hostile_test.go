package recall

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A text of any form is read in steps that grow as it does: dividing it counts no
// word more than a few times.
func TestLongLinesAreDividedOnce(t *testing.T) {
	line := strings.Repeat("a ", 200_000)
	if n := len(sections(line)); n != maxSections {
		t.Errorf("%d sections", n)
	}
	if n := len(windows(line)); n != mostWindows {
		t.Errorf("%d windows", n)
	}
}

// Words of nothing but marks, of characters that become many, and of data are no
// words, and no date.
func TestOddWords(t *testing.T) {
	l := shop()
	x := l.index(t)
	for _, q := range []string{"may ́ boats", "̀", "\u200d", strings.Repeat("ﷺ", 200), strings.Repeat("x", 4000), strings.Repeat("é", 60), "a'", "'", "_a_-b_", "ﬁ ﬀ", "\xff\xfe ada"} {
		for _, ask := range []func(Query, Weights, Texts) []Found{x.Recall, x.Told} {
			ask(Query{Text: q[:min(len(q), MaxQuery)], Now: now}, Recipe(), l.texts)
		}
		x.Search(Query{Text: q[:min(len(q), MaxQuery)], Now: now}, Recipe(), l.texts)
		if _, _, ok := Since(q, now); ok {
			t.Errorf("%q is a time", q)
		}
	}
}

// Words that no text has are compared with terms only so often, however many there
// are: at a large vocabulary a few of them, over all windows of a prompt together.
func TestUnseenWordsAreBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	made := func(n int) string {
		w := make([]byte, n)
		for i := range w {
			w[i] = byte('a' + r.IntN(8))
		}
		return string(w)
	}
	x := New()
	for i := range 600 {
		var words []string
		for range 100 {
			words = append(words, made(6))
		}
		if err := x.Put(memory(fmt.Sprint("mem/", i), strings.Join(words, " "))); err != nil {
			t.Fatal(err)
		}
	}
	var words []string
	for range 400 {
		words = append(words, made(9))
	}
	q := Query{Text: strings.Join(words, " "), Now: now}
	q.looked = newLookups(x, x.open(&q.Filter), q, Recipe())
	for _, part := range append(windows(q.Text), q.Text) {
		q.Text = part
		x.search(q, Recipe())
	}
	if most := max(leastUnseen, mostCompared/len(x.terms)) + 1; q.looked.unseen > most || q.looked.unseen < leastUnseen {
		t.Errorf("%d words are compared with %d terms, at most %d may be", q.looked.unseen, len(x.terms), most)
	}
	if words, _ := split(x, q.Text, theEnglish); len(words) > mostRead {
		t.Errorf("%d words are read", len(words))
	}
}

// FuzzAsked: no query stops the index.
func FuzzAsked(f *testing.F) {
	l := shop()
	x := l.index(f)
	f.Add("may \u0301 boats of ada on 2 August 2026, \"the heron\" SHOP-1411")
	f.Fuzz(func(t *testing.T, text string) {
		text = text[:min(len(text), MaxQuery)]
		q := Query{Text: text, Now: now}
		x.Recall(q, Recipe(), l.texts)
		x.Search(q, Recipe(), l.texts)
		for _, p := range x.Finder(q, Recipe()).Places(text) {
			if p.At < 0 || p.At >= len(text) {
				t.Errorf("a place at %d of %d bytes", p.At, len(text))
			}
		}
		_ = x.Put(memory("mem/fuzz", text))
		x.Remove("mem/fuzz")
	})
}
