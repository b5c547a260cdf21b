package foreign

import (
	"cmp"
	"strings"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// draft is one thing to remember, as it was found.
type draft struct {
	file string // path in what was read
	at   string // its path as the tool itself would name it, if that is more
	part string // what of that file: a section, a line; "" for all of it
	slug []string
	id   string // see Item.ID
	text string // as found, with front matter of its own or without
	// names are by what links mean it, besides its file's path.
	names []string
	first bool // of the sections of a file: links to the file mean it
	bare  bool // paths in the text are links, too
	// What the source says of it, or its place does. Its own front matter comes
	// first for the description, and both count for tags.
	kind        string // the source's word for its type; see frontmatter.Adopted
	description string
	tags        []string
	who         []string
	when        string
	relations   []relation
	fields      []frontmatter.Field // others
}

// relation is an edge to another draft, by one of its names.
type relation struct{ kind, to string }

// known is the relation as front matter would have it.
func (rel relation) known() string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(rel.kind)), " ", "_")
}

// from is the place for people.
func (d *draft) from() string {
	where := cmp.Or(d.at, d.file)
	if d.part != "" {
		where += "#" + d.part
	}
	return shown(where)
}

// add takes a draft.
func (r *reader) add(d *draft) {
	switch {
	case len(r.drafts) == maxItems:
		r.leave(d.from(), "this and what follows: more than %d things to remember", maxItems)
	case len(r.drafts) > maxItems: // said already
		return
	case notText(d.text) != "":
		r.leave(d.from(), "%s", notText(d.text))
		return
	case strings.TrimSpace(frontmatter.Parse(d.text).Body()) == "":
		r.leave(d.from(), "nothing but front matter")
		return
	}
	r.drafts = append(r.drafts, d)
}

// items turns drafts into items: slugs, then links between them, then texts.
func (r *reader) items(prefix string) []Item {
	r.drafts = r.drafts[:min(len(r.drafts), maxItems)]
	ix := newIndex()
	taken := map[nipae.Slug]*draft{}
	slugs := make([]nipae.Slug, len(r.drafts))
	for i, d := range r.drafts {
		slug, err := slugOf(prefix, d.slug)
		if err != nil {
			r.leave(d.from(), "%v", err)
			continue
		}
		if other := taken[slug]; other != nil {
			if other.text == d.text {
				r.leave(d.from(), "the same as %s", other.from())
			} else {
				r.leave(d.from(), "its slug would be %s, which is that of %s", slug, other.from())
			}
			continue
		}
		taken[slug], slugs[i] = d, slug
		ix.add(d, slug)
	}
	var items []Item
	for i, d := range r.drafts {
		if slugs[i] != "" {
			items = append(items, r.compose(d, slugs[i], ix, taken)...)
		}
	}
	return items
}

// compose makes the texts of a draft: one, or several parts where it is too
// long for one.
func (r *reader) compose(d *draft, slug nipae.Slug, ix *index, taken map[nipae.Slug]*draft) []Item {
	doc := frontmatter.Parse(foreign(d.text))
	body := ix.linksIn(d, doc.Body())
	head, err := headOf(d, doc, ix)
	if err != nil { // it is too much for front matter: then it stays text
		body = ix.linksIn(d, d.text)
		if head, err = headOf(d, frontmatter.Doc{}, ix); err != nil {
			r.leave(d.from(), "%v", err)
			return nil
		}
	}
	body += ix.related(d.relations)
	parts, ok := split(body, maxValue-cost(head))
	if !ok {
		r.leave(d.from(), "too large: there is a line of more than %d bytes, or more than %d parts of a memory", maxPart, maxParts)
		return nil
	}
	items := make([]Item, len(parts))
	for i, part := range parts {
		items[i] = Item{Slug: partSlug(slug, i), Text: head + chained(part, slug, i, len(parts)), From: d.from()}
		if other := taken[items[i].Slug]; other != nil && other != d {
			r.leave(d.from(), "the slug of a part of it would be %s, which is that of %s", items[i].Slug, other.from())
			return nil
		}
		taken[items[i].Slug] = d
	}
	if len(items) == 1 {
		items[0].ID = d.id
	}
	return items
}
