package intentions

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"engramd/nips/frontmatter"
)

// An intention that is too long for the budget, in any alphabet, is shown as
// far as there is room, because the rest is shown nowhere else.
func TestLongOneIsTold(t *testing.T) {
	for _, word := range []string{"word ", "слово ", "字"} {
		i, ok := Read("mem/intentions/"+strings.Repeat("long-", 10), frontmatter.Parse("---\ntype: prospective\ndue: 2026-01-01\naction: "+strings.Repeat(word, 300)+"\n---\n"+strings.Repeat(word, 60)))
		if !ok {
			t.Fatal("no intention")
		}
		item := Item{Intention: i, Occurrence: Occurrence{Due: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Count: 1}}
		const budget = 480
		lines, shown, more := Lines([]Item{item, item}, budget)
		if len(lines) != 1 || len(shown) != 1 || more != 1 {
			t.Fatalf("%q: %d lines of %d, %d more", word, len(lines), len(shown), more)
		}
		if l := lines[0]; len(l) > budget || len(l) < budget/2 || !utf8.ValidString(l) || !strings.HasSuffix(l, "…\n") || strings.Count(l, "\n") != 1 || !strings.Contains(l, "(due 2026-01-01): "+strings.TrimSpace(word)) {
			t.Errorf("%q is told in %d bytes: %s", word, len(l), l)
		}
		if lines, _, more := Lines([]Item{item}, 60); len(lines) != 0 || more != 1 {
			t.Errorf("%q is told without a text: %q", word, lines)
		}
	}
}
