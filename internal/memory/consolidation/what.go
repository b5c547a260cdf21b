package consolidation

import "engramd/nips/frontmatter"

// What a change does to its unit, in a word.
const (
	Created      = "created"
	Replaced     = "replaced"     // its words are others
	Superseded   = "superseded"   // its words stay
	Archived     = "archived"     // likewise
	Consolidated = "consolidated" // likewise: it was thought over
	Linked       = "linked"       // its words stay, and what it says of others does not
)

// What returns what a change does, the most that it takes away first.
func (c Change) What() string {
	if c.Base == "" {
		return Created
	}
	was, is := frontmatter.Parse(c.Old), frontmatter.Parse(c.New)
	before, after := was.Fields(), is.Fields()
	switch {
	case was.Body() != is.Body():
		return Replaced
	case before.State != after.State && after.State == frontmatter.Archived:
		return Archived
	case before.State != after.State && after.State == frontmatter.Superseded:
		return Superseded
	case before.Consolidated.IsZero() && !after.Consolidated.IsZero():
		return Consolidated
	}
	return Linked
}

// MicroBatch is how many new episodes are worth a word: who writes the last of them
// is told how many wait.
const MicroBatch = 8
