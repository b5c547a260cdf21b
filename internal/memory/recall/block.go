package recall

import (
	"fmt"
	"strings"
	"time"

	"engramd/internal/memory/quote"
	"engramd/nips/frontmatter"
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
	AsPart // by its best section
	Whole
)

const (
	// mostTexts is how many texts a block has before titles follow.
	mostTexts = 8
	// A memory that fits weakly has its text there down to this share of the best
	// score.
	weakText = 0.7
	// longText is from how many bytes on a memory gives its best section.
	longText = 1200
)

// Block writes hits as one text of at most budget bytes: the texts of the best that
// fit, then a line "slug: title" for each of the others, as far as they have room; a
// worse one takes no room from the line of a better one. A long memory gives its best
// section, with its place in the whole. No section is torn, and each line is quoted;
// external ones are called somebody else's words. It also returns how each hit stands
// there, also one that is Kept and not written.
func Block(found []Found, texts Texts, budget int) (string, []Shown) {
	var out, titles strings.Builder
	shown, left, tried := make([]Shown, len(found)), budget, 0
	for i, f := range found {
		text, ok := texts(f.Slug)
		if !ok {
			continue
		}
		d := frontmatter.Parse(text)
		part, how := f.line(d), AsTitle
		if tried < mostTexts && (f.Fit == Strong || f.Score >= weakText*found[0].Score) {
			tried++ // dividing a long text costs, also one that does not fit
			if long, as := f.text(d); len(long) <= left {
				part, how = long, as
			}
		}
		if len(part) > left {
			continue
		}
		shown[i] = how
		left -= len(part)
		switch {
		case f.Kept:
		case how == AsTitle:
			titles.WriteString(part)
		default:
			out.WriteString(part)
		}
	}
	return out.String() + titles.String(), shown
}

// text writes a unit, or its best section, with its standing and the reasons for
// which it was found.
func (f *Found) text(d frontmatter.Doc) (string, Shown) {
	body, about, how := d.Body(), f.about(), Whole
	if all := sections(body); len(body) > longText && len(all) > 1 && f.Section < len(all) {
		before := 0
		for _, s := range all[:f.Section] {
			before += len(s)
		}
		about = append(about, fmt.Sprintf("part %d of %d, about byte %d of %d: memory_read gives all", f.Section+1, len(all), min(before, len(body)), len(body)))
		body, how = all[f.Section], AsPart
	}
	var out strings.Builder
	fmt.Fprintf(&out, "## %s (%s)\n", f.Slug, strings.Join(about, "; "))
	for _, a := range f.Alike {
		fmt.Fprintf(&out, "(nearly the same: %s", a.Slug)
		if a.Trust == frontmatter.External {
			out.WriteString(" (external: somebody else's words)")
		}
		if len(a.Differs) > 0 {
			fmt.Fprintf(&out, ", but for %q", a.Differs) // words of either: quoted, as they may be somebody else's
		}
		out.WriteString(")\n")
	}
	out.WriteString(quote.Text(body, f.Trust == frontmatter.External) + f.Beneath + "\n")
	return out.String(), how
}

// about says what a unit is and why it was found.
func (f *Found) about() []string {
	all := []string{f.Trust.String()}
	if f.Trust == frontmatter.External {
		all = []string{"external: somebody else's words"}
	}
	if f.Project != "" {
		all = append([]string{"project " + f.Project}, all...)
	}
	if f.State != frontmatter.Active && (f.State != frontmatter.Superseded || len(f.SupersededBy) == 0) {
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
func (f *Found) line(d frontmatter.Doc) string {
	title, about := quote.Line(d.Heading(maxTitle)), f.Notes()
	if f.Trust == frontmatter.External {
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
