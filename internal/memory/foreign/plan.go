package foreign

import (
	"strings"

	"engramd/internal/platform/pattern"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Held is what is in memory at a slug.
type Held struct {
	Slug    nipae.Slug
	Text    string
	Removed bool // there was something, and it was removed
}

// What is to become of an item.
type What string

// What there is to do.
const (
	New      What = "new"      // to be written where nothing is
	Changed  What = "changed"  // imported from the same place before, and another text now
	Same     What = "same"     // it is there as it is
	Copy     What = "copy"     // the same words are at another slug
	Conflict What = "conflict" // something else is there
	Removed  What = "removed"  // it was there and was removed
	Refused  What = "refused"  // it cannot be written
)

// Step is what is to become of one item.
type Step struct {
	Item            // Text is stamped
	What What       // what is to be done
	Of   nipae.Slug // of a copy: where the words are
	Base string     // of a change: the text that is there
	Why  string     // of what is refused
}

// Plan compares items with what is in memory, and stamps them. It never plans to
// write over what it did not import itself, nor where something was removed.
// Items that are copies are not written; links to them go where the words are.
func Plan(items []Item, held []Held, stamp frontmatter.Stamp) []Step {
	there := make(map[nipae.Slug]Held, len(held))
	words := make(map[string]nipae.Slug, len(held))
	for _, h := range held {
		there[h.Slug] = h
		if body := bodyOf(h.Text); body != "" && !h.Removed {
			if old, ok := words[body]; !ok || h.Slug < old {
				words[body] = h.Slug
			}
		}
	}
	items = known(items, held)
	// Among themselves first, by what was found, so that what is in memory does not
	// decide which of two is the copy. What stays something else, or away, has no
	// words that another could be a copy of.
	copies, first := map[nipae.Slug]nipae.Slug{}, map[string]nipae.Slug{}
	for _, item := range items {
		if h, ok := there[item.Slug]; ok && !h.Removed && (bodyOf(h.Text) == bodyOf(item.Text) || cameFrom(h.Text, stamp.Source, item.From)) {
			first[bodyOf(item.Text)] = item.Slug
		}
	}
	for _, item := range items {
		if _, ok := there[item.Slug]; ok {
			continue
		}
		if of, ok := first[bodyOf(item.Text)]; ok {
			copies[item.Slug] = of
		} else {
			first[bodyOf(item.Text)] = item.Slug
		}
	}
	for i := range items {
		items[i].Text = redirect(items[i].Text, copies)
	}
	for _, item := range items {
		of, same := words[bodyOf(item.Text)]
		if !same && item.found != "" {
			of, same = words[item.found]
		}
		if _, ok := there[item.Slug]; same && !ok && copies[item.Slug] == "" {
			copies[item.Slug] = of
		}
	}
	steps := make([]Step, len(items))
	for i, item := range items {
		if of, ok := copies[item.Slug]; ok {
			if further, ok := copies[of]; ok {
				of = further
			}
			steps[i] = Step{Item: item, What: Copy, Of: of}
			continue
		}
		item.Text = redirect(item.Text, copies)
		steps[i] = step(item, there, stamp)
	}
	return steps
}

// step plans one item that is no copy.
func step(item Item, there map[nipae.Slug]Held, stamp frontmatter.Stamp) Step {
	s := Step{Item: item}
	doc := frontmatter.Parse(item.Text)
	h, ok := there[item.Slug]
	var head *frontmatter.Doc
	if ok && !h.Removed {
		d := frontmatter.Parse(h.Text)
		head = &d
	}
	text, err := frontmatter.Stamped(doc, head, stamp)
	if err == nil {
		text, err = marked(text)
	}
	if err != nil {
		s.What, s.Why = Refused, err.Error()
		return s
	}
	s.Text = text
	if why := tooLarge(item.Slug, text); why != "" {
		s.What, s.Why = Refused, why
		return s
	}
	switch {
	case !ok:
		s.What = New
	case h.Removed:
		s.What = Removed
	case h.Text == text:
		s.What = Same
	case !cameFrom(h.Text, stamp.Source, frontmatter.Parse(text).Fields().Path):
		s.What = Conflict
	case markIn(h.Text) == markIn(text): // what was changed here stays
		s.What = Same
	case markIn(h.Text) != markOf(h.Text):
		s.What, s.Why = Conflict, "it was changed here and at its source"
	default:
		s.What, s.Base = Changed, h.Text
	}
	return s
}

// cameFrom reports whether a text came here by an import of that source from that
// place.
func cameFrom(text, source, path string) bool {
	f := frontmatter.Parse(text).Fields()
	return f.Source != "" && f.Source == source && f.Path == path
}

func tooLarge(slug nipae.Slug, text string) string {
	body, err := nipae.NewMemory(slug, text)
	if err == nil {
		_, err = body.Bytes()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// bodyOf is a text's words, as copies are found by them.
func bodyOf(text string) string { return strings.TrimSpace(frontmatter.Parse(text).Body()) }

var slugLink = pattern.Later(`\[\[mem/[a-z0-9_/-]{1,251}\]\]`)

// redirect turns links to copies to where the words are.
func redirect(text string, copies map[nipae.Slug]nipae.Slug) string {
	if len(copies) == 0 {
		return text
	}
	return slugLink().ReplaceAllStringFunc(text, func(link string) string {
		if of, ok := copies[nipae.Slug(link[2:len(link)-2])]; ok {
			return "[[" + string(of) + "]]"
		}
		return link
	})
}
