package meaning

import (
	"context"
	"fmt"
	"math"

	"engramd/internal/memory/model"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/vectors/embed"
)

// Space is all vectors of one length, beside one another.
type Space struct {
	dim     int
	numbers []int8
	inverse []float32      // of each vector's length
	first   map[string]int // of a slug's vectors
	count   map[string]int
}

// NewSpace returns one for vectors of that many numbers.
func NewSpace(dim int) *Space {
	return &Space{dim: dim, first: map[string]int{}, count: map[string]int{}}
}

// Queries asks for the vectors of texts that are asked, by text.
func Queries(ctx context.Context, m embed.Embedder, texts []string) (map[string]Vector, error) {
	prefix, _ := embed.Forms(m.Name())
	asked := make([]string, len(texts))
	for i, t := range texts {
		asked[i] = prefix + t
	}
	raw, err := m.Embed(ctx, asked)
	if err != nil {
		return nil, err
	}
	all := make(map[string]Vector, len(texts))
	for i, t := range texts {
		if all[t], err = Quantized(raw[i]); err != nil {
			return nil, fmt.Errorf("%w: %w", model.ErrAnswer, err)
		}
	}
	return all, nil
}

// Dim is how many numbers a vector has here, and Len how many vectors there are.
func (sp *Space) Dim() int { return sp.dim }

// Len is described at Dim.
func (sp *Space) Len() int { return len(sp.inverse) }

// Near compares queries with vectors, each when it is asked for.
func (sp *Space) Near(queries map[string]Vector, own Usual) recall.Near {
	usual := sp.usual(own)
	return func(text string) (recall.Nearness, bool) {
		q, ok := queries[text]
		if !ok || len(q) != sp.dim {
			return recall.Nearness{}, false
		}
		length := inverse(q)
		return recall.Nearness{Mean: usual.Mean, Deviation: usual.Deviation, Cosine: func(slug string, section int) (float64, bool) {
			if section < 0 || section >= sp.count[slug] {
				return 0, false
			}
			i := sp.first[slug] + section
			return float64(float32(dot(sp.of(i), q)) * sp.inverse[i] * length), true
		}}, true
	}
}

// Put adds the vectors of a text's sections.
func (sp *Space) Put(slug string, sections []Vector) {
	for _, v := range sections {
		if len(v) != sp.dim {
			return // of a server that changed its model under one name
		}
	}
	sp.first[slug], sp.count[slug] = len(sp.inverse), len(sections)
	for _, v := range sections {
		sp.numbers = append(sp.numbers, v...)
		sp.inverse = append(sp.inverse, inverse(v))
	}
}

// inverse returns 1 divided by the length of a vector, 0 for none.
func inverse(v []int8) float32 {
	if n := dot(v, v); n > 0 {
		return float32(1 / math.Sqrt(float64(n)))
	}
	return 0
}

// dot is the product of two vectors. Their length is at most MaxDim, so
// that 32 bits hold it.
func dot(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	b = b[:len(a)]
	for len(a) >= 4 && len(b) >= 4 {
		s0 += int32(a[0]) * int32(b[0])
		s1 += int32(a[1]) * int32(b[1])
		s2 += int32(a[2]) * int32(b[2])
		s3 += int32(a[3]) * int32(b[3])
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}
