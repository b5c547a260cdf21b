package consolidation

import (
	"fmt"
	"time"

	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// DreamWhen says when a dream is offered: after so many new units that say what is
// known, or so long after the last one. What is 0 is the default, what is negative
// never.
type DreamWhen struct {
	Units int
	Every time.Duration
}

// The defaults.
const (
	DreamAfterUnits = 50
	DreamEvery      = 4 * time.Hour
)

// DreamDue reports whether a dream is to be offered, of which the last was at a time
// (zero: none) and since which so many units are new. It only ever offers. A last
// dream in the future is that of a clock that was wrong, or of another machine's: what
// counts is how far away it is.
func DreamDue(now, last time.Time, since int, w DreamWhen) bool {
	if w.Units == 0 {
		w.Units = DreamAfterUnits
	}
	if w.Every == 0 {
		w.Every = DreamEvery
	}
	return w.Units > 0 && since >= w.Units || w.Every > 0 && now.Sub(last).Abs() >= w.Every
}

// LastDream returns when a dream was drawn last; zero if none was. What a clock that
// was far ahead noted does not count: it would stand there as the last for years, and
// another one be offered right after each.
func LastDream(now time.Time, dreamt map[string]Dreamt) time.Time {
	var last time.Time
	for _, d := range dreamt {
		if d.Last.After(last) && d.Last.Sub(now) < DreamEvery {
			last = d.Last
		}
	}
	return last
}

// NewUnits counts the units that a dream could draw and that are newer than a time.
func NewUnits(v answer.View, since time.Time) int {
	n := 0
	for _, h := range v.Heads() {
		if !unasked(h.Slug) || h.UpdatedAt <= since.Unix() {
			continue // what was created since was changed since
		}
		text, ok := v.Text(h.Slug)
		if !ok {
			continue
		}
		f := frontmatter.Parse(text).Fields()
		if known(f.Type) && f.State == frontmatter.Active && f.Trust != frontmatter.External && (f.Created.IsZero() || f.Created.Time.After(since)) {
			n++
		}
	}
	return n
}

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
