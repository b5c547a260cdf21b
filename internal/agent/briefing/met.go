package briefing

import (
	"fmt"
	"strings"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/memory/apart"
	"engramd/internal/memory/quote"
)

const (
	// metBudget is how much may be told of writes that met a newer text, and metDiff how
	// many bytes of it may be lines that differ.
	metBudget = 1200
	metDiff   = 600
)

// met is the section on writes that met a newer text. Of those with somebody else's words
// it is told how many there are.
func met(all []apart.Unit) hook.Section {
	if len(all) == 0 {
		return hook.Section{}
	}
	out := &strings.Builder{}
	what := "1 write of yours met a newer one"
	if len(all) > 1 {
		what = fmt.Sprintf("%d writes of yours met newer ones", len(all))
	}
	fmt.Fprintf(out, "[Agent Memory — outbox]\n%s: what you wrote while no relay answered was not put over it. memory_read gives both; write what\nmatters of it anew, then memory_delete what is kept apart (or engramctl outbox drop ID).\n%s", what, quote.Notice)
	external, left := 0, metDiff
	for _, u := range all {
		if u.External() {
			external++
			continue
		}
		diff := ""
		if left > 0 {
			diff = u.Diff(left)
			left -= max(len(diff), metDiff/4)
		}
		fmt.Fprintf(out, "## %s (yours of %s is %s; the newer one is %s)\n%s", u.Of, u.Written.Format(time.RFC3339), u.Slug, newer(u), diff)
	}
	if external > 0 {
		fmt.Fprintf(out, "%d of them with somebody else's words.\n", external)
	}
	return hook.Section{Text: out.String(), Budget: metBudget, Rest: "engramctl outbox ls names all"}
}

func newer(u apart.Unit) string {
	if u.Newer.IsZero() {
		return "a removal"
	}
	return "of " + u.Newer.Format(time.RFC3339)
}
