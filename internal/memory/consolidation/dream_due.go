package consolidation

import (
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
