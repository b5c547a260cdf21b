package mind

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"engramd/internal/recollect"
	"engramd/nips/unit"
)

const (
	// NarrativeSlug is where the agent's story of itself stands. There is one: its
	// versions are its history.
	NarrativeSlug = "mem/narrative"
	// MaxNarrative is how long it is, in characters.
	MaxNarrative = 1500
)

// checkNarrative judges a write of the narrative: a plan that shows it, or that was
// made when there was none, may write it anew as a whole. It comes into every session
// unasked, so nothing of somebody else's may get into it: neither by its sources nor by
// its words nor by what it was before.
func checkNarrative(p Plan, i int, op Op, text Texts, o CheckOptions) error {
	wrong := func(format string, a ...any) error {
		return &OpError{Index: i, Op: op.Op, Reason: fmt.Sprintf(format, a...)}
	}
	body := strings.TrimSpace(op.Text)
	switch {
	case op.Slug != NarrativeSlug:
		return wrong("a narrative is written at %s and nowhere else", NarrativeSlug)
	case op.Type != "" && op.Type != string(unit.Narrative):
		return wrong("what is written at %s has \"type\": \"narrative\"", NarrativeSlug)
	case body == "":
		return wrong("a narrative without a text says nothing; leave it out to keep what is there")
	case utf8.RuneCountInString(body) > MaxNarrative:
		return wrong("the narrative has %d characters, and %d is the most", utf8.RuneCountInString(body), MaxNarrative)
	}
	if head, _, ok := text(NarrativeSlug); ok {
		if u, shown := p.Find(NarrativeSlug); !shown || u.Role != NarrativeRole {
			return wrong("the plan does not show the narrative that is there")
		}
		if d := unit.Parse(head); d.Trust() == unit.Told {
			return wrong("the owner told the narrative, and a plan does not write over it")
		}
	}
	sources := slices.Concat(op.DerivedFrom, op.InspiredBy)
	if len(sources) == 0 {
		return wrong("a narrative names the units it is made from")
	}
	for _, s := range sources {
		head, _, ok := text(s)
		if _, shown := p.Find(s); !shown || !ok {
			return wrong("the plan does not show %s", s)
		}
		if unit.Parse(head).Trust() == unit.External {
			return wrong("%s is somebody else's words, and a narrative takes none", s)
		}
	}
	for _, words := range []string{body, op.Description, op.words()} {
		if from, ok := copiedFrom(o.View, words); ok {
			return wrong("it is taken from %s, which is somebody else's words, and a narrative takes none", from)
		}
	}
	return nil
}

// copiedFrom returns the external unit that a text was taken from.
func copiedFrom(v recollect.View, text string) (string, bool) {
	if v == nil {
		return "", false
	}
	return recollect.CopiedFrom(v, text)
}
