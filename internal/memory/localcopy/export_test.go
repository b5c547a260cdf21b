package localcopy

import (
	"math"

	"engramd/internal/memory/meaning"
)

// cosine returns the cosine of two vectors, 0 if their lengths differ.
func cosine(v, o meaning.Vector) float64 {
	if len(v) != len(o) {
		return 0
	}
	var dot, a, b int64
	for i, x := range v {
		y := int64(o[i])
		dot += int64(x) * y
		a += int64(x) * int64(x)
		b += y * y
	}
	if a == 0 || b == 0 {
		return 0
	}
	return float64(dot) / math.Sqrt(float64(a)*float64(b))
}

// Vectors returns the vectors of a model for the text at a slug, one for each
// section; false if there are none yet.
func (v *View) Vectors(model, slug string) (sections []meaning.Vector, ok bool) {
	d := v.m.address(slug)
	for _, sections := range v.vectors(model, "SELECT p.slug, v.hash, v.mac, v.sections FROM places p JOIN events e ON e.n = p.head"+vectorsOf+"WHERE p.d = ?", model, d[:]) {
		return sections, true
	}
	return nil, false
}
