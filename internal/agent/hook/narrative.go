package hook

import (
	"time"

	"engramd/internal/memory/quote"
	"engramd/nips/frontmatter"
)

// NarrativeSlug is where the agent's story of itself stands.
const NarrativeSlug = "mem/narrative"

// NarrativeBudget is how much of it a session begins with; a plan writes no
// longer one.
const NarrativeBudget = 1500

// Copy says how far what comes from the local copy can be trusted to be what the
// relays have: AsOf is when all of them had confirmed it, Stale that not all of
// them do now.
type Copy struct {
	AsOf  time.Time
	Stale bool
}

func (c Copy) mark() string { return unconfirmed(c.AsOf, c.Stale) }

// Narrates reports whether a text may stand as the narrative: it is active, and
// nobody else's words.
func Narrates(text string) bool {
	d := frontmatter.Parse(text)
	return d.Fields().State == frontmatter.Active && d.Trust() > frontmatter.External
}

// Narrative is the section with the narrative, of which text is the whole; none
// for one that does not Narrate.
func Narrative(m Measure, text string, c Copy) Section {
	body := quote.Text(frontmatter.Parse(text).Body(), false)
	if !Narrates(text) || body == "" {
		return Section{}
	}
	title := "[Agent Memory — narrative" + c.mark() + "]\n" + quote.Notice
	return Section{Text: title + body, Budget: m(title) + NarrativeBudget, Rest: "memory_read of " + NarrativeSlug + " gives all of it"}
}

// Rests is the section with lines about what core and narrative rest on.
func Rests(lines string, c Copy) Section {
	if lines == "" {
		return Section{}
	}
	return Section{Text: "[Agent Memory — superseded" + c.mark() + "]\n" + lines}
}
