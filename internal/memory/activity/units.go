package activity

import (
	"time"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Known is what is known of units besides their texts, by slug.
type Known struct {
	Uses     map[string]Use
	Feedback map[string]Feedback
}

// Text is a text of a memory, and when it was written last.
type Text struct {
	Slug    string
	Text    string
	Written time.Time
}

// Reader makes units of texts.
type Reader struct {
	known Known
	says  map[string]float64
	core  map[string]bool // what the core links to
}

// NewReader returns one over what is known, how much documents say
// (Informations), and the text of the core.
func NewReader(k Known, says map[string]float64, core string) Reader {
	r := Reader{known: k, says: says, core: map[string]bool{}}
	for _, slug := range nipae.References(core) {
		r.core[string(slug)] = true
	}
	return r
}

// Unit makes a unit of a text; false if it is not active.
func (r Reader) Unit(t Text) (Unit, bool) { return r.unit(t, frontmatter.Active) }

// Superseded makes one of a text that is superseded; false if it is not.
func (r Reader) Superseded(t Text) (Unit, bool) { return r.unit(t, frontmatter.Superseded) }

func (r Reader) unit(t Text, state frontmatter.State) (Unit, bool) {
	d := frontmatter.Parse(t.Text)
	f := d.Fields()
	if f.State != state {
		return Unit{}, false
	}
	u := Unit{Slug: t.Slug, Tokens: Tokens(len(t.Text)), Created: f.Created.Time, Uses: r.known.Uses[t.Slug], Information: r.says[t.Slug],
		Feedback: r.known.Feedback[t.Slug], Held: r.held(t.Slug, f, d.Trust())}
	if u.Created.IsZero() {
		u.Created = t.Written
	}
	if f.HasSalience {
		u.Salience = f.Salience
	}
	return u, true
}

// held says why a unit is never archived, "" if it may be.
func (r Reader) held(slug string, f frontmatter.Fields, trust frontmatter.Trust) string {
	switch {
	case slug == string(nipae.Core):
		return "core"
	case f.Pin:
		return "pinned"
	case f.Type == frontmatter.Narrative:
		return "narrative"
	case f.Type == frontmatter.Prospective:
		return "an intention that is not done"
	case trust == frontmatter.Told:
		return "told"
	case r.core[slug]:
		return "linked from core"
	}
	return ""
}
