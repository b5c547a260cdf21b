package recall

import (
	"fmt"
	"strings"
	"time"

	"engramd/internal/quote"
	"engramd/nips/unit"
)

const (
	// DefaultBudget is how long a block is, in bytes, if nobody says.
	DefaultBudget = 4000
	// maxTitle is how much of a title is shown, in characters.
	maxTitle = 80
)

// Shown says how a hit stands in a block.
type Shown uint8

// How a hit may stand there.
const (
	NotShown Shown = iota // the budget did not do
	AsTitle
	Whole
)

// Block writes what was found as one text of at most budget bytes: whole units,
// best first, as many as fit, then a line "slug: title" for each of the others,
// as many as fit; what is worse takes no room from the line of what is better.
// No text is torn, and each of its lines is quoted; what is external is called
// somebody else's words. It also returns how each hit stands there, also what is Kept
// and not written.
func Block(found []Found, texts Texts, budget int) (string, []Shown) {
	var out, titles strings.Builder
	shown, left := make([]Shown, len(found)), budget
	for i, f := range found {
		text, ok := texts(f.Slug)
		if !ok {
			continue
		}
		d := unit.Parse(text)
		part, into := f.whole(d), &out
		shown[i] = Whole
		if len(part) > left {
			part, into, shown[i] = f.line(d), &titles, AsTitle
		}
		if len(part) > left {
			shown[i] = NotShown
			continue
		}
		left -= len(part)
		if !f.Kept {
			into.WriteString(part)
		}
	}
	return out.String() + titles.String(), shown
}

// whole writes a unit with what it is and why it is there.
func (f *Found) whole(d unit.Doc) string {
	var out strings.Builder
	fmt.Fprintf(&out, "## %s (%s)\n", f.Slug, strings.Join(f.about(), "; "))
	for _, a := range f.Alike {
		fmt.Fprintf(&out, "(nearly the same: %s", a.Slug)
		if a.Trust == unit.External {
			out.WriteString(" (external: somebody else's words)")
		}
		if len(a.Differs) > 0 {
			fmt.Fprintf(&out, ", but for %q", a.Differs) // words of either: quoted, as they may be somebody else's
		}
		out.WriteString(")\n")
	}
	out.WriteString(quote.Text(d.Body(), f.Trust == unit.External) + "\n")
	return out.String()
}

// about says what a unit is and why it was found.
func (f *Found) about() []string {
	all := []string{f.Trust.String()}
	if f.Trust == unit.External {
		all = []string{"external: somebody else's words"}
	}
	if f.Project != "" {
		all = append([]string{"project " + f.Project}, all...)
	}
	if f.State != unit.Active && (f.State != unit.Superseded || len(f.SupersededBy) == 0) {
		all = append(all, string(f.State))
	}
	all = append(all, f.Notes()...)
	if !f.When.IsZero() {
		all = append(all, f.When.Format(time.DateOnly))
	}
	if len(f.Words) > 0 {
		all = append(all, "words: "+strings.Join(f.Words, ", "))
	}
	all = append(all, (f.Why &^ ByWords).Names()...)
	return all
}

// line is what is left of a unit that does not fit.
func (f *Found) line(d unit.Doc) string {
	title, about := quote.Line(d.Heading(maxTitle)), f.Notes()
	if f.Trust == unit.External {
		title, about = fmt.Sprintf("%q", title), append([]string{"external: somebody else's words"}, about...)
	}
	if f.Project != "" {
		about = append([]string{"project " + f.Project}, about...)
	}
	if len(about) > 0 {
		return fmt.Sprintf("%s (%s): %s\n", f.Slug, strings.Join(about, "; "), title)
	}
	return fmt.Sprintf("%s: %s\n", f.Slug, title)
}
