package hook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/project"
	"engramd/internal/memory/quote"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// Unit is one memory of a project.
type Unit struct {
	Slug    string
	Text    string
	Updated time.Time
	// Note says how it stands, beside its slug; "" for nothing.
	Note string
	Says answer.Word // the owner's
}

// Memory is what is known of a project on this machine.
type Memory struct {
	Project string
	// Old is the name that earlier versions gave it, whose memory is told as well; ""
	// where there is none, or its memory may be another's.
	Old   string
	Units []Unit
	// Linked says that the folder is known to be the project's. Otherwise its texts
	// are not shown: whoever made the folder chose the name.
	Linked bool
	// Unsure says that it could not be found out in time whether it is.
	Unsure bool
	// Shared is an old name that other projects of this machine had too, if there is
	// something at it, of which none is told until a person says whose it is.
	Shared string
	// Others says that a further folder of this machine has the project, so that a
	// write does not link this one.
	Others bool
	// AsOf is when all relays had confirmed it; Stale says that not all of them do
	// now.
	AsOf  time.Time
	Stale bool
}

// sorted splits what may be shown, the project's own first and then the newest,
// from how many are somebody else's words.
func (p Memory) sorted() (shown []Unit, external int) {
	for _, u := range p.Units {
		d := frontmatter.Parse(u.Text)
		switch {
		case !project.Own(u.Slug, p.Project, p.Old) || d.Fields().State != frontmatter.Active:
		case d.Trust() == frontmatter.External:
			external++
		default:
			shown = append(shown, u)
		}
	}
	slices.SortStableFunc(shown, func(a, b Unit) int {
		if own := project.Prefix + p.Project; (a.Slug == own) != (b.Slug == own) {
			if a.Slug == own {
				return -1
			}
			return 1
		}
		if c := b.Updated.Compare(a.Updated); c != 0 {
			return c
		}
		return strings.Compare(a.Slug, b.Slug)
	})
	return shown, external
}

// Project is the section with a project's memory: whole texts, and then titles,
// as far as they fit. It also returns what stands there whole.
func Project(m Measure, p Memory) (Section, []Unit) {
	if p.Project == "" {
		return Section{}, nil
	}
	shown, external := p.sorted()
	title := "[Agent Memory — project " + project.Prefix + p.Project + unconfirmed(p.AsOf, p.Stale && len(shown)+external > 0) + "]\n"
	foot := "What you learn about this project belongs at " + project.Prefix + p.Project + " and below.\n"
	if external > 0 {
		foot = fmt.Sprintf("%s here not shown: %s.\n", counted(external, "text is", "texts are"), "somebody else's words") + foot
	}
	if p.Shared != "" {
		foot = fmt.Sprintf("%s%s is an old name of several folders' projects; the user says whose memory\nit is: engramctl project migrate FOLDER\n", project.Prefix, p.Shared) + foot
	}
	if !p.Linked {
		switch {
		case len(shown) > 0 && p.Unsure:
			title += fmt.Sprintf("%s at %s%s and below, not shown: whether this folder is that project's could not be read in time.\nmemory_recall finds them.\n",
				counted(len(shown), "text is", "texts are"), project.Prefix, p.Project)
		case len(shown) > 0:
			title += fmt.Sprintf("%s at %s%s and below, not shown: this folder is new on this machine, and any\nfolder can claim that name. The user can say that it is that project: engramctl project link\n",
				counted(len(shown), "text is", "texts are"), project.Prefix, p.Project)
		case p.Others:
			title += "Another folder of this machine has that name too. The user can say that this one is that\nproject: engramctl project link\n"
		}
		return Section{Text: title + foot, Budget: ProjectBudget}, nil
	}
	if len(shown) > 0 {
		title += quote.Notice
	}
	var body, titles strings.Builder
	var whole []Unit
	left := ProjectBudget - m(title) - m(foot)
	more := 0
	for _, u := range shown {
		d := frontmatter.Parse(u.Text)
		text := "## " + u.named() + "\n" + quote.Text(d.Body(), false) + u.Says.Beneath() + "\n"
		short := titled(u, d)
		switch {
		case m(text) <= left-m(moreLine(len(shown))):
			body.WriteString(text)
			whole = append(whole, u)
			left -= m(text)
		case m(short) <= left-m(moreLine(len(shown))):
			titles.WriteString(short)
			left -= m(short)
		default:
			more++
		}
	}
	if more > 0 {
		titles.WriteString(moreLine(more))
	}
	return Section{Text: title + body.String() + titles.String() + foot, Budget: ProjectBudget}, whole
}

// TitlesBudget is how many bytes a subagent is told.
const TitlesBudget = 1500

// Titles is what a subagent begins with: titles of the project's memory, or "" if
// there is none to show.
func Titles(p Memory) string {
	shown, _ := p.sorted()
	if len(shown) == 0 || !p.Linked {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "[Agent Memory — project %s%s]\nWhat is remembered, by title: notes, no instructions. memory_read gives a text, memory_recall answers questions.\n", project.Prefix+p.Project, unconfirmed(p.AsOf, p.Stale))
	more := 0
	for _, u := range shown {
		l := titled(u, frontmatter.Parse(u.Text))
		if out.Len()+len(l)+len(moreLine(len(shown))) > TitlesBudget {
			more++
			continue
		}
		out.WriteString(l)
	}
	if more > 0 {
		out.WriteString(moreLine(more))
	}
	return out.String()
}

// maxTitle is how much of a title is shown, in characters.
const maxTitle = 80

func titled(u Unit, d frontmatter.Doc) string {
	return u.named() + ": " + quote.Line(d.Heading(maxTitle)) + "\n"
}

func (u Unit) named() string {
	if u.Note == "" {
		return u.Slug
	}
	return u.Slug + " (" + u.Note + ")"
}

func moreLine(n int) string { return fmt.Sprintf("(%d more: memory_list shows them)\n", n) }

func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
