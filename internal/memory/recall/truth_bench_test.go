package recall

import (
	"fmt"
	"strings"
	"testing"
)

// ten makes an index of 10,000 memories: episodes, the facts that were derived from
// them, and corrections of every tenth of these.
func ten(b *testing.B) (*Index, library) {
	b.Helper()
	words := strings.Fields("harbour ferry kettle ladder garden lamp violin quarry bakery tunnel meadow anchor orchard cinema bridge pepper marble saddle canyon timber")
	l := library{}
	for i := range 5000 {
		w := func(n int) string { return words[(i*7+n*3+i/20)%len(words)] }
		l[fmt.Sprintf("mem/journal/%d", i)] = fmt.Sprintf("---\ntype: episodic\nsession: s%d\n---\nThe %s by the %s is %d steps from the %s, said Ana about %s.", i/20, w(0), w(1), i, w(2), w(3))
		state := ""
		if i%10 == 0 {
			state = "state: superseded\n"
		}
		supersedes := ""
		if i%10 == 1 {
			supersedes = fmt.Sprintf("supersedes: mem/facts/%d\n", i-1)
		}
		l[fmt.Sprintf("mem/facts/%d", i)] = fmt.Sprintf("---\n%s%sderived_from: mem/journal/%d\n---\nThe %s is %d steps from the %s.", state, supersedes, i, w(0), i, w(2))
	}
	return l.index(b), l
}

func BenchmarkRecall(b *testing.B) {
	x, l := ten(b)
	q := Query{Now: now, Filter: Filter{Slugs: func(slug string) bool { return !strings.HasPrefix(slug, "mem/sys/") }}}
	asked := []string{"Is the kettle steps from the bakery?", "The kettle steps from the bakery, said Ana", "kettle bakery steps"}
	for i := 0; b.Loop(); i++ {
		q.Text = asked[i%len(asked)]
		if x.Recall(q, Recipe(), l.texts) == nil {
			b.Fatal(q.Text)
		}
	}
}

func BenchmarkTruth(b *testing.B) {
	x, _ := ten(b)
	for b.Loop() {
		x.follows.Store(nil)
		x.Truth()
	}
}
