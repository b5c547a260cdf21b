package foreign

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"engramd/internal/platform/pattern"
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
	ix := &index{map[string]nipae.Slug{}, map[string]nipae.Slug{}}
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
		items[0].ID, items[0].found = d.id, bodyOf(d.text)
	}
	return items
}

const (
	maxSegment = 64  // bytes between two slashes of a slug
	maxSlug    = 240 // of a slug, so that "-part-64" has room
)

// segment makes a part of a slug of any name: lower case, and "-" for what may
// not stand there. A name that loses letters by that gets 8 hex digits of its
// hash, so that two of them do not become one. It is never empty.
func segment(name string) string {
	name = strings.TrimSpace(name)
	out, lost := plain(name)
	if !lost && out != "" && len(out) <= maxSegment {
		return out
	}
	if out = cut(out, maxSegment-9); out == "" {
		return hashOf(name)
	}
	return out + "-" + hashOf(name)
}

// folderName makes a part of a slug of a folder's name, such that two folders have
// two: the name itself where it is one in the letters of a slug, and before's if
// that was taken off, and else with 8 hex digits of its hash. before is what such
// names begin with, "" for nothing.
func folderName(before, name string) string {
	out, _ := plain(name)
	if before+out == name && len(out) <= maxSegment && !hashEnd().MatchString(out) {
		return out
	}
	if out = cut(out, maxSegment-9); out == "" {
		return hashOf(name)
	}
	return out + "-" + hashOf(name)
}

// foldersOf is segmentsOf, and keeps distinct folders distinct.
func foldersOf(name string) []string {
	parts := segmentsOf(name)
	for i, folder := range parts[:len(parts)-1] {
		parts[i] = folderName("", folder)
	}
	return parts
}

// hashEnd is how a name ends that has a hash.
var hashEnd = pattern.Later(`(^|-)[0-9a-f]{8}$`)

// plain is a name in the letters of a slug, and whether others were lost.
func plain(name string) (out string, lost bool) {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(name) {
		ok := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' && b.Len() > 0
		if ok && gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		if ok {
			b.WriteRune(c)
		}
		lost = lost || c > 0x7f
		gap = !ok
	}
	return b.String(), lost
}

// cut shortens a part of a slug, at a "-" if there is one near.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:most]
	if at := strings.LastIndexByte(s, '-'); at > most/2 {
		s = s[:at]
	}
	return strings.TrimRight(s, "-")
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// told makes a part of a slug of a text that has no name: its first words and 8
// hex digits of what names it for good.
func told(text, id string) string {
	words := strings.Fields(text)
	head, _ := plain(strings.Join(words[:min(8, len(words))], " "))
	if head = cut(head, 40); head == "" {
		return hashOf(id)
	}
	return head + "-" + hashOf(id)
}

// slugOf puts names behind a prefix. Where that is too long, folders give way.
func slugOf(prefix string, names []string) (nipae.Slug, error) {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = segment(n)
	}
	whole := prefix + "/" + strings.Join(parts, "/")
	if len(whole) > maxSlug && len(parts) > 1 {
		whole = prefix + "/" + hashOf(strings.Join(names[:len(names)-1], "/")) + "/" + parts[len(parts)-1]
	}
	return nipae.ParseSlug(whole)
}
