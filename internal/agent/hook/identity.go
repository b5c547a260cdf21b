package hook

import (
	"fmt"
	"time"
)

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
