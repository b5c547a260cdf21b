package hook

import (
	"fmt"
	"strings"

	"engramd/internal/memory/proposals"
)

// countsBudget is how much what waits may take.
const countsBudget = 700

// maxNamed is how many plans are named.
const maxNamed = 3

// Counts is what waits for somebody to think, as numbers: no text, title or
// reason of it comes into a context.
type Counts struct {
	Episodes int // that are not consolidated
	// AtLeast says that not all of them could be counted in time.
	AtLeast bool
	// Open are the ids of plans that were begun and not ended, Proposed of those that
	// wait for a person.
	Open, Proposed []string
	Dream          bool // one is offered
	Offers         Offers
	Behind         int // memories that are newer on this machine than relays show
}

// Offers count what others propose that is open, and nothing of what it says.
type Offers struct {
	Owner, Listed int
	Strangers     int64 // records of keys that nobody listed, which are never read
}

// OffersOf counts an inbox.
func OffersOf(in proposals.Inbox) Offers {
	o := Offers{Strangers: max(0, in.Strangers)}
	for _, i := range in.Items {
		if i.FromOwner {
			o.Owner++
		} else {
			o.Listed++
		}
	}
	return o
}

// line says what is proposed; "" for nothing.
func (o Offers) line(w Ways) string {
	var by []string
	if o.Owner > 0 {
		by = append(by, fmt.Sprintf("%d by your owner", o.Owner))
	}
	if o.Listed > 0 {
		by = append(by, fmt.Sprintf("%d by %s", o.Listed, "agents that are listed"))
	}
	out := ""
	if len(by) > 0 {
		out = fmt.Sprintf("%s for your answer: %s. %s shows them.\n", counted(o.Owner+o.Listed, "proposal waits", "proposals wait"), strings.Join(by, ", "), w.Offers)
	}
	if o.Strangers > 0 {
		out += fmt.Sprintf("Keys that nobody listed address %s to you, not read.\n", counted(int(o.Strangers), "record", "records"))
	}
	return out
}

// Zero reports whether nothing waits.
func (c Counts) Zero() bool {
	return c.Episodes == 0 && len(c.Open) == 0 && len(c.Proposed) == 0 && !c.Dream && c.Offers == (Offers{}) && c.Behind == 0
}

// Chores splits off what can wait: what there is to think about.
func (c Counts) Chores() (rest Counts, any bool) {
	rest = c
	rest.Episodes, rest.AtLeast, rest.Open, rest.Dream = 0, false, nil, false
	return rest, c.Episodes > 0 || len(c.Open) > 0 || c.Dream
}

// Ways are how an agent answers to what waits: by tools, where its server has
// them, else by commands.
type Ways struct{ Consolidate, Dream, Done, Offers string }

// WaysOf are those of an agent that has, or has not, the tools of the mind, and
// those for proposals.
func WaysOf(mind, offers bool) Ways {
	w := Ways{"engramctl mind prepare", "engramctl mind dream", "engramctl intentions done SLUG", "engramctl proposals ls"}
	if mind {
		w = Ways{"memory_more with action prepare", "memory_more with action dream", "memory_more with action done", w.Offers}
	}
	if offers {
		w.Offers = "memory_more with action proposals"
	}
	return w
}

// Section says what waits.
func (c Counts) Section(w Ways) Section {
	if c.Zero() {
		return Section{}
	}
	var out strings.Builder
	out.WriteString("[Agent Memory — what waits]\n")
	if c.Behind > 0 {
		fmt.Fprintf(&out, "%s newer here than relays show: engramctl repair sends them again; tell the user.\n", counted(c.Behind, "memory is", "memories are"))
	}
	if c.Episodes > 0 {
		least, them := "", "them"
		if c.Episodes == 1 {
			them = "it"
		}
		if c.AtLeast {
			least = "at least "
		}
		fmt.Fprintf(&out, "%s%s not consolidated: %s shows %s, when there is time to think.\n", least, counted(c.Episodes, "episode is", "episodes are"), w.Consolidate, them)
	}
	if n := len(c.Open); n > 0 {
		fmt.Fprintf(&out, "%s begun and not ended: engramctl mind resume %s\n", counted(n, "plan was", "plans were"), named(c.Open))
	}
	if n := len(c.Proposed); n > 0 {
		fmt.Fprintf(&out, "%s for the user to decide: engramctl mind review %s\n", counted(n, "plan waits", "plans wait"), named(c.Proposed))
	}
	out.WriteString(c.Offers.line(w))
	if c.Dream {
		fmt.Fprintf(&out, "A dream is offered: %s.\n", w.Dream)
	}
	return Section{Text: out.String(), Budget: countsBudget}
}

func named(ids []string) string {
	if len(ids) > maxNamed {
		return strings.Join(ids[:maxNamed], ", ") + ", …"
	}
	return strings.Join(ids, ", ")
}
