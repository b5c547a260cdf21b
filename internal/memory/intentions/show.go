package intentions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"engramd/internal/memory/quote"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

const (
	// maxAction is how much of an action is told unasked, in characters.
	maxAction = 300
	// maxMay is how many intentions may come up by their triggers at once.
	maxMay = 3
	// dueFormat is how a time is told, with the offset that it is meant in.
	dueFormat = "2006-01-02 15:04 -07:00"
)

// Ask is what an intention may come up for.
type Ask struct {
	Now   time.Time
	Place Place
	// Text is a prompt or a query, with which triggers are compared; "" compares
	// none.
	Text string
	// Seen reports whether a session was shown an intention by a key: see Seen. nil
	// was shown nothing.
	Seen func(slug, key string) bool
}

// Item is an intention that comes up.
type Item struct {
	Intention
	Occurrence
	May   bool    // by its trigger
	Share float64 // of the trigger, that the text says
	// Superseded names what took the place of what it rests on.
	Superseded []string
	Says       answer.Word // the owner's
}

// Look returns what comes up: what is open, the longest first, and then what may
// apply, the best first. What is somebody else's words never does.
func Look(v answer.View, a Ask) []Item {
	var due, may []Item
	match := NewMatcher(v.Index(), a.Text)
	each(v, recall.Filter{MinTrust: frontmatter.Derived}, func(i Intention) {
		if !i.Here(a.Place) {
			return
		}
		item := Item{Intention: i, Says: answer.WordsOf(v)[i.Slug]}
		if item.Says.Withholds() {
			return
		}
		var ok bool
		if item.Occurrence, ok = i.Open(a.Now); !ok && a.Text != "" {
			item.Key, item.May = i.Waits(a.Now)
			item.Share = match.Share(i.Trigger)
			ok = item.May && item.Share >= Threshold
		}
		switch {
		case !ok || a.Seen != nil && a.Seen(i.Slug, item.Key):
		case item.May:
			may = append(may, item)
		default:
			due = append(due, item)
		}
	})
	slices.SortFunc(due, func(a, b Item) int {
		return cmp.Or(a.Intention.Due.Compare(b.Intention.Due), strings.Compare(a.Slug, b.Slug))
	})
	slices.SortFunc(may, func(a, b Item) int { return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.Slug, b.Slug)) })
	all := append(due, may[:min(len(may), maxMay)]...)
	for i := range all {
		all[i].Superseded = v.Index().Truth().Of(all[i].Slug).PartlySupersededBy
	}
	return all
}

// each calls do with the intentions that a filter allows, by slug.
func each(v answer.View, f recall.Filter, do func(Intention)) {
	f.Types = []frontmatter.Type{frontmatter.Prospective}
	f.Slugs = func(slug string) bool { return !answer.Reserved(slug) }
	all := v.Index().Matching(f)
	slices.SortFunc(all, func(a, b recall.Listed) int { return strings.Compare(a.Slug, b.Slug) })
	for _, l := range all {
		text, ok := v.Text(l.Slug)
		if !ok {
			continue
		}
		if i, ok := Read(l.Slug, frontmatter.Parse(text)); ok {
			do(i)
		}
	}
}

// All returns the intentions of a memory: what is due first comes first, and what
// was closed last. closed says that those are wanted too.
func All(v answer.View, closed bool) []Intention {
	f := recall.Filter{}
	if closed {
		f.States = frontmatter.States
	}
	var all []Intention
	each(v, f, func(i Intention) { all = append(all, i) })
	slices.SortStableFunc(all, func(a, b Intention) int {
		if (a.State == frontmatter.Active) != (b.State == frontmatter.Active) {
			return cmp.Compare(btoi(a.State != frontmatter.Active), btoi(b.State != frontmatter.Active))
		}
		return cmp.Or(cmp.Compare(btoi(a.Due.IsZero()), btoi(b.Due.IsZero())), a.Due.Compare(b.Due))
	})
	return all
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Line is what is told of an intention that comes up, on one line, and on another what the
// owner says of it.
func (i Item) Line() string {
	var out strings.Builder
	out.WriteString(i.head() + cmp.Or(quote.Line(i.Title), "no text"))
	if action := short(quote.Line(i.Action), maxAction); action != "" {
		out.WriteString(" — then: " + action)
	}
	out.WriteByte('\n')
	if i.Says.Text != "" {
		fmt.Fprintf(&out, "  your owner says (proposal %.8s): %s\n", i.Says.ID, short(quote.Line(i.Says.Text), maxAction))
	}
	return out.String()
}

// head is what stands before its text.
func (i Item) head() string {
	why := i.Why()
	if len(i.Superseded) > 0 {
		why += "; rests on what was superseded by " + strings.Join(i.Superseded, ", ")
	}
	return fmt.Sprintf("- %s (%s): ", i.Slug, why)
}

// Why says why it comes up.
func (i Item) Why() string {
	switch {
	case i.May:
		return fmt.Sprintf("may apply: %q", short(quote.Line(i.Trigger), maxTitle))
	case i.Occurrence.Due.IsZero():
		return "open"
	case i.Day:
		return "due " + i.Occurrence.Due.Format(time.DateOnly) + i.missed()
	}
	return "due " + i.Occurrence.Due.Format(dueFormat) + i.missed()
}

func (i Item) missed() string {
	if i.Count < 2 {
		return ""
	}
	return fmt.Sprintf(", and %d before it", i.Count-1)
}

// leastText is how much of a text there must be room for, in bytes.
const leastText = 40

// within is the line in that many bytes: cut where it is longer, since it would not
// come up anywhere else; whole where not even the beginning of its text has room.
func (i Item) within(most int) string {
	line, head := i.Line(), len(i.head())
	const mark = "…\n"
	end := most - len(mark)
	if len(line) <= most || end < head+leastText {
		return line
	}
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return strings.TrimRight(line[:end], " ") + mark
}

// Lines writes items as lines, as many as fit in order, and returns those with how
// many are left. One that alone is longer than all of them may be is cut.
func Lines(items []Item, budget int) (lines []string, shown []Item, more int) {
	most := budget
	for _, i := range items {
		l := i.within(most)
		if len(l) > budget {
			more++
			continue
		}
		budget -= len(l)
		lines, shown = append(lines, l), append(shown, i)
	}
	return lines, shown, more
}
