package consolidation

import (
	"fmt"

	"engramd/nips/frontmatter"
)

// checkDream judges what only a dream's operations must keep: they write insights,
// inspired by units that were drawn, that say something new. The narrative, which a
// dream may write too, is judged as in any plan.
func checkDream(p Plan, ops []Op, text Texts, o CheckOptions) error {
	var said []insight
	for i, op := range ops {
		wrong := func(format string, a ...any) error {
			return &OpError{Index: i, Op: op.Op, Reason: fmt.Sprintf(format, a...)}
		}
		if op.Slug == NarrativeSlug || op.Type == string(frontmatter.Narrative) {
			continue
		}
		if op.Type != "" && op.Type != string(frontmatter.Insight) {
			return wrong("a dream writes insights and the narrative; %.40q is neither", op.Type)
		}
		if len(op.DerivedFrom) > 0 {
			return wrong("an insight is inspired_by units, not derived_from them")
		}
		if len(op.InspiredBy) == 0 {
			return wrong("inspired_by is missing: name the drawn units that the insight connects")
		}
		for _, s := range op.InspiredBy {
			if u, ok := p.Find(s); !ok || u.Role != Drawn {
				return wrong("%s was not drawn, and an insight is inspired_by drawn units only", s)
			}
		}
		if _, _, there := text(op.Slug); there {
			return wrong("something is at %s already, and an insight writes over nothing", op.Slug)
		}
		if slug, share := o.nearest(op, said); share > MaxSimilarity {
			return wrong("it is not new: %s is like it (%.0f %%, and %.0f %% is the most); leave it out, or say what is new about it",
				slug, share*100, MaxSimilarity*100)
		}
		said = append(said, insight{op.Slug, op.words()})
	}
	return nil
}
