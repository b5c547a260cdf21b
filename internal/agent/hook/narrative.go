package hook

import (
	"fmt"
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

// identityBudget is how much the identity may take.
const identityBudget = 500

// maxHash is how many digits of a hash are shown.
const maxHash = 16

// Continuing is what a session goes on from: this machine's log of what it wrote.
// The zero value is nothing, where nothing was written.
type Continuing struct {
	Root string // of the log: 64 hex digits
	N    int64  // how many numbers the log has
	Log  string // its name
	// Consolidated is when episodes were consolidated last, zero if that was never;
	// Unread says that it could not be looked up.
	Consolidated time.Time
	Unread       bool
}

// Line says it in a line, with so many digits of the root; "" is nothing.
func (c Continuing) Line(digits int) string {
	if c.N == 0 {
		return ""
	}
	last := "never"
	switch {
	case c.Unread:
		last = "not known"
	case !c.Consolidated.IsZero():
		last = c.Consolidated.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("continuing from root %s, n %d, last consolidation %s\n", c.Root[:min(len(c.Root), digits)], c.N, last)
}

// Note is the text of a note that says so to whoever checks the log.
func (c Continuing) Note() string {
	if c.N == 0 {
		return ""
	}
	return c.Line(len(c.Root)) + "The log is " + c.Log + ".\n"
}

// Identity is who begins a session: by its key, and by the story that it has of
// itself.
type Identity struct {
	Agent, Owner string // npub
	// Hash is that of the narrative's text, "" without one; Versions how many
	// versions of it are kept, 0 if that is not known.
	Hash     string
	Versions int
	From     Continuing
}

// Section says it.
func (i Identity) Section() Section {
	if i.Agent == "" && i.From.N == 0 {
		return Section{}
	}
	text := "[Agent Memory — identity]\n"
	if i.Agent != "" {
		text += fmt.Sprintf("Your key is %s; you remember for %s.\n", i.Agent, i.Owner)
	}
	if i.Hash != "" {
		text += "Your narrative has the hash " + i.Hash[:min(len(i.Hash), maxHash)]
		if i.Versions > 0 {
			text += fmt.Sprintf(", and is its version %d", i.Versions)
		}
		text += ".\n"
	}
	return Section{Text: text + i.From.Line(maxHash), Budget: identityBudget}
}
