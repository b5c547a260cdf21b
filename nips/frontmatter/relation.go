package frontmatter

import (
	"strings"

	"engramd/nips/nipae"
)

// Relations are the keys that relate a unit to others.
var Relations = []string{"derived_from", "supersedes", "contradicts", "supports", "causes", "inspired_by", "related_to"}

// Link is the relation of a [[slug]] in the body.
const Link = "links_to"

// Relation is one edge from a unit.
type Relation struct {
	Relation string  // one of Relations, or Link
	Target   string  // a slug, or an event id
	Strength float64 // 0 to 1; 1 if nothing is said
}

// Value returns how the relation stands in a list of front matter.
func (r Relation) Value() string {
	if r.Strength == 1 {
		return r.Target
	}
	return r.Target + " " + Number(r.Strength).scalar
}

// relations reads "slug" and "slug 0.8". A target may stand in [[ ]], as
// Obsidian writes it.
func (r *reader) relations() []Relation {
	var all []Relation
	for _, key := range Relations {
		for _, item := range r.list(key) {
			fields := strings.Fields(item)
			rel := Relation{Relation: key, Strength: 1}
			ok := len(fields) == 1
			if len(fields) == 2 {
				rel.Strength, ok = within(fields[1])
			}
			if !ok {
				r.fault(key, "it must be slugs, each with a strength from 0 to 1 behind it or none")
				continue
			}
			rel.Target = strings.TrimSuffix(strings.TrimPrefix(fields[0], "[["), "]]")
			all = append(all, rel)
		}
	}
	return all
}

// Links returns all edges of the unit: its relations, and the [[slug]] links of
// its body (NIP-AE, "References"), each once.
func (d Doc) Links() []Relation {
	all := d.Fields().Relations
	for _, slug := range nipae.References(d.Body()) {
		all = append(all, Relation{Relation: Link, Target: string(slug), Strength: 1})
	}
	return all
}
