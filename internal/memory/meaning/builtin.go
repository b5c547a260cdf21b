package meaning

import (
	"context"
	"math"
	"strings"
	"time"

	"engramd/internal/memory/meaning/matrix"
	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// Matrix is the model that is part of the program: it asks nobody.
type Matrix struct{}

// Name is the model's, with its version.
func (Matrix) Name() string { return "matrix " + matrix.Version() }

// Dim is how many numbers a vector has.
func (Matrix) Dim() int { return matrix.Dims }

// Usual is what cosines are usual.
func (Matrix) Usual() Usual {
	return Usual{float64(matrix.Mean()), float64(matrix.Deviation())}
}

// Embed returns the vectors of texts. One without a word that is known is nearly nothing,
// so that it is near to nothing.
func (Matrix) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, t := range texts {
		if all[i] = matrix.Vector(t); all[i] == nil {
			all[i] = unknown()
		}
	}
	return all, ctx.Err()
}

// unknown is a vector that is near to no text's.
func unknown() []float32 {
	v := make([]float32, matrix.Dims)
	v[0], v[1] = 1, -1
	return v
}

// mostSections is how many sections of one text have vectors; the others are found by
// words.
const mostSections = 256

// Document is recall.Of, with the matrix's vectors.
func Document(slug string, d frontmatter.Doc, written time.Time) recall.Document {
	doc := recall.Of(slug, d, written)
	sections := recall.Sections(doc)
	sections = sections[:min(len(sections), mostSections)]
	doc.Vectors = make([]int8, 0, len(sections)*recall.VectorDim)
	for _, s := range sections {
		if strings.TrimSpace(s) == "" {
			s = slug
		}
		doc.Vectors = append(doc.Vectors, quantized(s)...)
	}
	return doc
}

// quantized is the matrix's vector of a text.
func quantized(text string) Vector {
	v := matrix.Vector(text)
	if v == nil {
		v = unknown()
	}
	q, _ := Quantized(v) // of numbers, and not all zero
	return q
}

// Within compares texts, a query and perhaps parts of it, with what an index has vectors
// of.
func Within(x *recall.Index, texts []string) recall.Near {
	known := recall.VectorsIn(x)
	usual := usualOf(len(known), func(i int) []int8 { return known[i] }, Matrix{}.Usual())
	asked := map[string]bool{}
	for _, t := range texts {
		asked[t] = true
	}
	return func(text string) (recall.Nearness, bool) {
		if !asked[text] {
			return recall.Nearness{}, false
		}
		q := quantized(text)
		length := inverse(q)
		kept := func(v []int8) float64 { return cosineOf(v, q, length) }
		return recall.Nearness{Mean: usual.Mean, Deviation: usual.Deviation, Kept: kept, Cosine: func(slug string, section int) (float64, bool) {
			v, ok := x.Vector(slug, section)
			if !ok {
				return 0, false
			}
			return kept(v), true
		}}, true
	}
}

// cosineOf is that of a vector and a query of which the length is known, in one look.
func cosineOf(v, q []int8, inverse float32) float64 {
	var product, square int32
	q = q[:len(v)]
	for i, a := range v {
		x := int32(a)
		product, square = product+x*int32(q[i]), square+x*x
	}
	if square == 0 {
		return 0
	}
	return float64(float32(product) * float32(1/math.Sqrt(float64(square))) * inverse)
}
