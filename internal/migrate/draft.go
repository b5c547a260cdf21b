package migrate

import (
	"cmp"
	"slices"
	"strings"

	"engramd/nips/nipae"
	"engramd/nips/unit"
)

// draft is one thing to remember, as it was found.
type draft struct {
	file string // path in what was read
	at   string // its path as the tool itself would name it, if that is more
	part string // what of that file: a section, a line; "" for all of it
	slug []string
	text string // as found, with front matter of its own or without
	// names are by what links mean it, besides its file's path.
	names []string
	first bool // of the sections of a file: links to the file mean it
	bare  bool // paths in the text are links, too
	// What the source says of it, or its place does. Its own front matter comes
	// first for the description, and both count for tags.
	kind        string // the source's word for its type; see unit.Adopted
	description string
	tags        []string
	who         []string
	when        string
	relations   []relation
	fields      []unit.Field // others
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
	case strings.TrimSpace(unit.Parse(d.text).Body()) == "":
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
			items = append(items, r.compose(d, slugs[i], ix)...)
		}
	}
	return items
}

// compose makes the texts of a draft: one, or several parts where it is too
// long for one.
func (r *reader) compose(d *draft, slug nipae.Slug, ix *index) []Item {
	doc := unit.Parse(foreign(d.text))
	body := ix.linksIn(d, doc.Body())
	head, err := headOf(d, doc, ix)
	if err != nil { // it is too much for front matter: then it stays text
		body = ix.linksIn(d, d.text)
		if head, err = headOf(d, unit.Doc{}, ix); err != nil {
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
		if _, err := nipae.ParseSlug(string(items[i].Slug)); err != nil {
			r.leave(d.from(), "%v", err)
			return nil
		}
	}
	return items
}

// headOf makes the front matter of a draft: its own lines, with our fields.
func headOf(d *draft, doc unit.Doc, ix *index) (string, error) {
	typ, tags := adopted(d, doc)
	changes := []unit.Change{unit.Set("type", unit.String(string(typ)))}
	if s := description(d, doc); s != "" {
		changes = append(changes, unit.Set("description", unit.String(s)))
	}
	if tags := tagsOf(tags, d.tags, itemsOf(doc, "tags")); len(tags) > 0 {
		changes = append(changes, unit.Set("tags", unit.Strings(tags...)))
	}
	if len(d.who) > 0 {
		changes = append(changes, unit.Set("who", unit.Strings(clean(d.who)...)))
	}
	if when := whenOf(d, doc); !when.IsZero() {
		changes = append(changes, unit.Set("when", when.Value()))
	} else if _, has := doc.Value("when"); has {
		changes = append(changes, unit.Remove("when"))
	}
	for _, kind := range unit.Relations {
		var to []string
		for _, rel := range d.relations {
			if slug := ix.byName(rel.to); rel.known() == kind && slug != "" && !slices.Contains(to, string(slug)) {
				to = append(to, string(slug))
			}
		}
		if len(to) > 0 {
			changes = append(changes, unit.Set(kind, unit.Strings(to...)))
		}
	}
	for _, f := range d.fields {
		changes = append(changes, unit.Set(f.Key, f.Value))
	}
	changes = append(changes, unit.Set("path", unit.String(d.from())))
	text, err := doc.Edit(changes...)
	if err != nil {
		return "", err
	}
	done := unit.Parse(text)
	head := strings.TrimSuffix(text, done.Body())
	// Room for the fields that are stamped later.
	if len(head) > unit.MaxHead-200 {
		return "", unit.ErrHead
	}
	return head, nil
}

// adopted is the type that a text has here, and the tags that its own word for
// it becomes: that of its front matter, else the source's.
func adopted(d *draft, doc unit.Doc) (unit.Type, []string) {
	kinds := itemsOf(doc, "type")
	if own := doc.Fields().Kind; len(kinds) == 0 && own != "" {
		kinds = []string{own}
	}
	if len(kinds) == 0 {
		kinds = []string{d.kind}
	}
	typ, tag := unit.Adopted(kinds[0])
	if typ == unit.Semantic && slices.Contains(unit.Types, unit.Type(d.kind)) {
		typ = unit.Type(d.kind) // by its place
	}
	return typ, append([]string{tag}, kinds[1:]...)
}

func itemsOf(doc unit.Doc, key string) []string {
	v, _ := doc.Value(key)
	return v.Items()
}

func description(d *draft, doc unit.Doc) string {
	s := doc.Fields().Description
	if folded := folded(doc, "description"); folded != "" {
		s = folded
	}
	if s == "" {
		s = d.description
	}
	return cutLine(shown(s), 300)
}

// whenOf is when it happened: what the text says, else what its place does.
func whenOf(d *draft, doc unit.Doc) unit.Moment {
	for _, key := range []string{"when", "date", "imported_created"} {
		if v, ok := doc.Value(key); ok {
			s, _ := v.Scalar()
			if m, ok := unit.ParseMoment(strings.TrimSpace(s)); ok {
				return m
			}
		}
	}
	m, _ := unit.ParseMoment(d.when)
	return m
}

// tagsOf unites tags: without "#", each once, in their order.
func tagsOf(lists ...[]string) []string {
	var out []string
	for _, tag := range slices.Concat(lists...) {
		for one := range strings.SplitSeq(tag, ",") {
			one = strings.TrimPrefix(strings.TrimSpace(shown(one)), "#")
			if one = cutLine(one, 64); one != "" && !slices.Contains(out, one) && len(out) < 32 {
				out = append(out, one)
			}
		}
	}
	return out
}

func clean(words []string) []string {
	var out []string
	for _, w := range words {
		if w = cutLine(shown(strings.TrimSpace(w)), 100); w != "" && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}

// cutLine cuts a line to so many characters.
func cutLine(s string, most int) string {
	if c := []rune(s); len(c) > most {
		return strings.TrimSpace(string(c[:most-1])) + "…"
	}
	return s
}
