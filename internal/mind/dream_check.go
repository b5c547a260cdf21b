package mind

import (
	"fmt"
	"strings"

	"engramd/nips/unit"
)

// checkDream judges what only a dream's operations must keep: they write insights,
// inspired by units that were drawn, that say something new; and the narrative.
func checkDream(p Plan, ops []Op, text Texts, o CheckOptions) error {
	var said []insight
	for i, op := range ops {
		wrong := func(format string, a ...any) error {
			return &OpError{Index: i, Op: op.Op, Reason: fmt.Sprintf(format, a...)}
		}
		if op.Op != OpWrite {
			return wrong("a dream only writes insights and the narrative")
		}
		if len(op.DerivedFrom) > 0 {
			return wrong("what a dream writes is inspired_by units, not derived_from them")
		}
		if writesNarrative(op) {
			if err := checkNarrative(p, i, op, text, o); err != nil {
				return err
			}
			continue
		}
		if op.Type != string(unit.Insight) {
			return wrong("a dream writes insights: it must have \"type\": \"insight\"")
		}
		if _, _, there := text(op.Slug); there {
			return wrong("something is at %s already, and an insight writes over nothing", op.Slug)
		}
		if len(op.InspiredBy) == 0 {
			return wrong("an insight names the drawn units that it is inspired_by")
		}
		for _, s := range op.InspiredBy {
			if u, ok := p.Find(s); !ok || u.Role != Drawn {
				return wrong("%s was not drawn, and an insight is inspired_by drawn units only", s)
			}
		}
		if strings.TrimSpace(op.Text) == "" {
			return wrong("an insight without a text says nothing")
		}
		if slug, share := o.nearest(op, said); share > MaxSimilarity {
			return wrong("it is not new: %s is like it (%d %%, and %.0f %% is the most); change nothing, or say what is new about it",
				slug, int(share*100+.5), MaxSimilarity*100)
		}
		said = append(said, insight{op.Slug, op.words()})
	}
	return nil
}
