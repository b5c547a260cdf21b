package recollect

import (
	"time"

	"engramd/internal/metabolism"
	"engramd/nips/nipae"
)

// Units returns the active units of a memory with what their activation follows
// from, without those that machines keep.
func Units(v View, k metabolism.Known) []metabolism.Unit {
	core, _ := v.Text(string(nipae.Core))
	r := metabolism.NewReader(k, metabolism.Informations(v.Index().Said()), core)
	var all []metabolism.Unit
	for _, h := range v.Heads() {
		if Reserved(h.Slug) {
			continue
		}
		text, ok := v.Text(h.Slug)
		if !ok {
			continue
		}
		if u, ok := r.Unit(metabolism.Text{Slug: h.Slug, Text: text, Written: time.Unix(h.UpdatedAt, 0).UTC()}); ok {
			all = append(all, u)
		}
	}
	return all
}
