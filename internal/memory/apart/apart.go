// Package apart has the texts that were written while no relay answered, and met a
// newer one when they were sent. Each is a memory of its own, below mem/sys/outbox/,
// until it was merged or dropped: then it is removed.
package apart

import (
	"slices"
	"strings"
	"time"

	"engramd/internal/client/memory"
	"engramd/internal/memory/quote"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/snapshot"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Prefix begins the slugs of texts that are apart.
const Prefix = memory.ApartPrefix

// MaxUnits is how many are looked at.
const MaxUnits = 100

// Slug is that of the text with an id, which is of lower-case letters and digits.
func Slug(id string) nipae.Slug { return nipae.Slug(Prefix + id) }

// The fields of its front matter.
const (
	keyOf      = "of"
	keyWritten = "written"
)

// Unit is one such text.
type Unit struct {
	Slug    string    // its own
	Of      string    // the slug that it was written to
	Written time.Time // when
	Text    string    // byte for byte
	// Now is the text that is there, Newer when it was written: zero for none.
	Now   string
	Newer time.Time
}

// ID is the unit's, as engramctl outbox names it.
func (u Unit) ID() string { return strings.TrimPrefix(u.Slug, Prefix) }

// Render makes the memory of a unit.
func (u Unit) Render() (string, error) {
	fields := []frontmatter.Field{{Key: keyOf, Value: frontmatter.String(u.Of)}, {Key: keyWritten, Value: frontmatter.At(u.Written).Value()}}
	if trust := frontmatter.Parse(u.Text).Trust(); trust == frontmatter.External {
		fields = append(fields, frontmatter.Field{Key: "trust", Value: frontmatter.String(trust.String())})
	}
	return frontmatter.Render(fields, u.Text)
}

// parse reads one; false if it is none.
func parse(slug, text string) (u Unit, ok bool) {
	d := frontmatter.Parse(text)
	of, _ := d.Value(keyOf)
	written, _ := d.Value(keyWritten)
	name, _ := of.Scalar()
	at, _ := written.Scalar()
	u = Unit{Slug: slug, Of: name, Text: d.Body()}
	u.Written, _ = time.Parse(time.RFC3339, at)
	_, err := nipae.ParseSlug(name)
	return u, err == nil
}

// In returns the texts that are apart, by their slugs; with a slug, those that were
// written to it.
func In(v answer.View, of string) (all []Unit) {
	for _, h := range v.Under(Prefix) {
		text, _ := v.Text(h.Slug)
		u, ok := parse(h.Slug, text)
		if !ok || of != "" && u.Of != of || len(all) == MaxUnits {
			continue
		}
		if now, there := v.Text(u.Of); there {
			h, _ := v.Head(u.Of)
			u.Now, u.Newer = now, time.Unix(h.UpdatedAt, 0).UTC()
		}
		all = append(all, u)
	}
	return all
}

// External reports whether one of both texts has somebody else's words.
func (u Unit) External() bool {
	return slices.ContainsFunc([]string{u.Text, u.Now}, func(text string) bool { return frontmatter.Parse(text).Trust() == frontmatter.External })
}

// Diff shows how the unit's text differs from the one that is there, for a context, in
// at most so many bytes: whole lines behind marks.
func (u Unit) Diff(most int) string {
	var out strings.Builder
	for l := range strings.Lines(quote.Text(snapshot.Unified(u.Now, u.Text), u.External())) {
		if out.Len()+len(l) > most {
			break
		}
		out.WriteString(l)
	}
	return out.String()
}
