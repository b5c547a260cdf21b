package foreign

import (
	"path"
	"slices"
	"strings"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// keyMark is the field that tells what was imported from what became of it here:
// an update writes over what is as it was imported, and over nothing else.
const keyMark = "imported"

// markOf is what the mark of a text would be: a hash of all but the mark and what
// every way of writing stamps.
func markOf(text string) string {
	var without []frontmatter.Change
	for _, key := range []string{keyMark, "created", "source", "session", "consolidated", "trust"} {
		without = append(without, frontmatter.Remove(key))
	}
	plain, err := frontmatter.Parse(text).Edit(without...)
	if err != nil {
		return ""
	}
	return hashOf(plain)
}

func markIn(text string) string {
	v, _ := frontmatter.Parse(text).Value(keyMark)
	s, _ := v.Scalar()
	return s
}

func marked(text string) (string, error) {
	return frontmatter.Parse(text).Edit(frontmatter.Set(keyMark, frontmatter.String(markOf(text))))
}

// known gives items that a source names, whatever they say, the slugs that they
// have had since they were first imported, though those begin with their words of
// that time. The items are copied.
func known(items []Item, held []Held) []Item {
	items = slices.Clone(items)
	type name struct{ folder, id string }
	there, taken := map[name][]nipae.Slug{}, map[nipae.Slug]bool{}
	for _, h := range held {
		taken[h.Slug] = true
		if n := len(h.Slug) - len(hashOf("")); n > 0 && strings.ContainsRune("-/", rune(h.Slug[n-1])) {
			at := name{path.Dir(string(h.Slug)), string(h.Slug[n:])}
			there[at] = append(there[at], h.Slug)
		}
	}
	moved := map[nipae.Slug]nipae.Slug{}
	for i, item := range items {
		if item.ID == "" || taken[item.Slug] {
			continue
		}
		if all := there[name{path.Dir(string(item.Slug)), item.ID}]; len(all) == 1 {
			moved[item.Slug], items[i].Slug = all[0], all[0]
		}
	}
	for i := range items {
		items[i].Text = redirect(items[i].Text, moved)
	}
	return items
}
