package foreign

import (
	"slices"
	"strings"

	"engramd/nips/frontmatter"
)

// headOf makes the front matter of a draft: its own lines, with our fields.
func headOf(d *draft, doc frontmatter.Doc, ix *index) (string, error) {
	typ, tags := adopted(d, doc)
	changes := []frontmatter.Change{frontmatter.Set("type", frontmatter.String(string(typ)))}
	if s := description(d, doc); s != "" {
		changes = append(changes, frontmatter.Set("description", frontmatter.String(s)))
	}
	if tags := tagsOf(tags, d.tags, itemsOf(doc, "tags")); len(tags) > 0 {
		changes = append(changes, frontmatter.Set("tags", frontmatter.Strings(tags...)))
	}
	if len(d.who) > 0 {
		changes = append(changes, frontmatter.Set("who", frontmatter.Strings(clean(d.who)...)))
	}
	if when := whenOf(d, doc); !when.IsZero() {
		changes = append(changes, frontmatter.Set("when", when.Value()))
	} else if _, has := doc.Value("when"); has {
		changes = append(changes, frontmatter.Remove("when"))
	}
	for _, kind := range frontmatter.Relations {
		var to []string
		for _, rel := range d.relations {
			if slug := ix.byName(rel.to); rel.known() == kind && slug != "" && !slices.Contains(to, string(slug)) {
				to = append(to, string(slug))
			}
		}
		if len(to) > 0 {
			changes = append(changes, frontmatter.Set(kind, frontmatter.Strings(to...)))
		}
	}
	for _, f := range d.fields {
		changes = append(changes, frontmatter.Set(f.Key, f.Value))
	}
	changes = append(changes, frontmatter.Set("path", frontmatter.String(d.from())))
	text, err := doc.Edit(changes...)
	if err != nil {
		return "", err
	}
	done := frontmatter.Parse(text)
	head := strings.TrimSuffix(text, done.Body())
	// Room for the fields that are stamped later.
	if len(head) > frontmatter.MaxHead-200 {
		return "", frontmatter.ErrHead
	}
	return head, nil
}

// adopted is the type that a text has here, and the tags that its own word for
// it becomes: that of its front matter, else the source's.
func adopted(d *draft, doc frontmatter.Doc) (frontmatter.Type, []string) {
	kinds := itemsOf(doc, "type")
	if own := doc.Fields().Kind; len(kinds) == 0 && own != "" {
		kinds = []string{own}
	}
	if len(kinds) == 0 {
		kinds = []string{d.kind}
	}
	typ, tag := frontmatter.Adopted(kinds[0])
	if typ == frontmatter.Semantic && slices.Contains(frontmatter.Types, frontmatter.Type(d.kind)) {
		typ = frontmatter.Type(d.kind) // by its place
	}
	return typ, append([]string{tag}, kinds[1:]...)
}

func itemsOf(doc frontmatter.Doc, key string) []string {
	v, _ := doc.Value(key)
	return v.Items()
}

func description(d *draft, doc frontmatter.Doc) string {
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
func whenOf(d *draft, doc frontmatter.Doc) frontmatter.Moment {
	for _, key := range []string{"when", "date", "imported_created"} {
		if v, ok := doc.Value(key); ok {
			s, _ := v.Scalar()
			if m, ok := frontmatter.ParseMoment(strings.TrimSpace(s)); ok {
				return m
			}
		}
	}
	m, _ := frontmatter.ParseMoment(d.when)
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

func cutLine(s string, most int) string {
	if c := []rune(s); len(c) > most {
		return strings.TrimSpace(string(c[:most-1])) + "…"
	}
	return s
}
