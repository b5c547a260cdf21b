package consolidation

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"engramd/internal/memory/quote"
	"engramd/nips/frontmatter"
)

const (
	// frame is the room that a plan's text needs beside the units.
	frame = 4 << 10
	// How much of a unit's text is shown, in bytes: of an episode or a drawn unit, of
	// the narrative, which may be written anew, and of what stands aside.
	maxShown     = 4 << 10
	maxNarrated  = 7 << 10
	maxAsideText = 600
	maxMore      = 100 // the line that says what there was no room for
)

// roles in the order in which units stand in the text, each with its heading.
var roles = []Role{Episode, Drawn, Beside, NarrativeRole, Outdated, Stale, Orphan}

var headings = map[Role]string{
	Episode:       "Episodes that wait",
	Drawn:         "Drawn at random",
	Beside:        "What is known beside them",
	NarrativeRole: "Narrative",
	Outdated:      "Outdated: what they rest on was superseded",
	Stale:         "Stale: hardly used, may be archived",
	Orphan:        "Orphans: nothing links to them",
}

// Text is what whoever thinks reads: the rules, then the units, each line of which
// is quoted, so that no text can pass for a part of the plan. text gives what is at
// a slug now; what is not what the plan was made of is not shown. It has at most
// MaxBytes.
func (p Plan) Text(text func(slug string) (string, bool)) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Plan %s (%s), made %s\n", p.ID, p.Kind, p.Made.UTC().Format(time.RFC3339))
	if p.Kind == Consolidate {
		fmt.Fprintf(&out, "%d episodes wait.\n", p.Waiting)
	}
	if p.Kind == Dream {
		fmt.Fprintf(&out, "Seed %d.\n", p.Seed)
	}
	if p.Stale {
		out.WriteString("Not every relay has confirmed this lately: newer texts may exist, and a commit would say so.\n")
	}
	out.WriteString("\n## Rules\n" + rulesOf(p.Kind))
	if p.Theirs != "" {
		out.WriteString(othersRule)
	}
	left := 0
	for _, role := range roles {
		heading := "\n## " + headings[role] + "\n"
		for _, u := range p.Units {
			if u.Role != role {
				continue
			}
			now, ok := text(u.Slug)
			written := "### " + u.Slug + "\n(changed since the plan was made: prepare anew)\n"
			if ok && Hash(now) == u.Hash {
				written = u.written(now)
			}
			if left > 0 || out.Len()+len(heading)+len(written) > MaxBytes-maxMore {
				left++
				continue
			}
			out.WriteString(heading + written)
			heading = ""
		}
	}
	if left > 0 {
		fmt.Fprintf(&out, "\n(%d more units, for which there is no room)\n", left)
	}
	return out.String()
}

// written is a unit as the plan's text shows it.
func (u Shown) written(text string) string {
	d := frontmatter.Parse(text)
	f := d.Fields()
	about := []string{string(f.Type), f.Trust.String()}
	if f.Trust == frontmatter.External {
		about[1] = "external: somebody else's words"
	}
	if f.State != frontmatter.Active {
		about = append(about, string(f.State))
	}
	if m := firstOf(f.When, f.Created); !m.IsZero() {
		about = append(about, m.String())
	}
	if f.Pin {
		about = append(about, "pinned")
	}
	var out strings.Builder
	fmt.Fprintf(&out, "### %s (%s)\n", u.Slug, strings.Join(about, "; "))
	if u.Note != "" {
		out.WriteString("(" + u.Note + ")\n")
	}
	for _, a := range u.Alike {
		out.WriteString(a.line())
	}
	head := ""
	if f.Description != "" {
		head = "description: " + brief(f.Description) + "\n"
	}
	if len(f.Tags) > 0 {
		head += "tags: " + brief(strings.Join(f.Tags, ", ")) + "\n"
	}
	body, rest := u.most(quote.Clean(d.Body()))
	out.WriteString(quote.Mark(quote.Clean(head)+body, f.Trust == frontmatter.External))
	if rest > 0 {
		fmt.Fprintf(&out, "(%d more bytes: read %s for all of it)\n", rest, u.Slug)
	}
	return out.String()
}

func (a Alike) line() string {
	how := "looks like"
	if a.Contradicts {
		how = "contradicts"
	}
	if len(a.Differs) == 0 {
		return fmt.Sprintf("(%s %s)\n", how, a.Slug)
	}
	words := slices.Clone(a.Differs)
	for i := range words {
		words[i] = fmt.Sprintf("%q", words[i])
	}
	return fmt.Sprintf("(%s %s; not the same: %s)\n", how, a.Slug, strings.Join(words, ", "))
}

func firstOf(a, b frontmatter.Moment) frontmatter.Moment {
	if a.IsZero() {
		return b
	}
	return a
}

// most returns as much of a body as its role shows, and how many bytes are left.
// The marks of many short lines count.
func (u Shown) most(body string) (shown string, rest int) {
	body = strings.TrimRight(body, "\n")
	room := maxShown
	switch u.Role {
	case NarrativeRole:
		room = maxNarrated
	case Outdated, Stale, Orphan:
		room = maxAsideText
	}
	at := 0
	for line := range strings.Lines(body) {
		room -= len("| ")
		if len(line) > room {
			end := at + max(0, room)
			for end > at && !utf8.RuneStart(body[end]) {
				end--
			}
			return body[:end], len(body) - end
		}
		room -= len(line)
		at += len(line)
	}
	return body, 0
}
