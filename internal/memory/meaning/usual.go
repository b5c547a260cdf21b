package meaning

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"strings"

	"engramd/internal/memory/model"
	"engramd/internal/memory/vectors/embed"
)

const (
	// Few is how many sections say too little of what cosines are usual among them: below,
	// the model's own count for the rest.
	Few = 50
	// pairs is how many pairs of sections are compared at most.
	pairs = 2000
)

// Usual is the mean and the deviation of the cosines of two texts that have nothing to do
// with each other, by a model: cosines differ from one to the next.
type Usual struct{ Mean, Deviation float64 }

// usual is usualOf the vectors of a space.
func (sp *Space) usual(own Usual) Usual { return usualOf(len(sp.inverse), sp.of, own) }

// usualOf returns those of pairs of sections, which are the same at each call; of few
// sections mixed with the model's own.
func usualOf(n int, of func(i int) []int8, own Usual) Usual {
	if n < 2 {
		return own
	}
	var sum, squares float64
	count := min(pairs, n*(n-1)/2)
	for k := range count {
		i := k * 7919 % n
		j := (i + 1 + k*104729%(n-1)) % n
		a, b := of(i), of(j)
		c := float64(float32(dot(a, b)) * inverse(a) * inverse(b))
		sum, squares = sum+c, squares+c*c
	}
	mean := sum / float64(count)
	deviation := math.Sqrt(max(0, squares/float64(count)-mean*mean))
	share := min(1, float64(n)/Few)
	return Usual{share*mean + (1-share)*own.Mean, share*deviation + (1-share)*own.Deviation}
}

// Known is a model that knows what cosines are usual.
type Known interface{ Usual() Usual }

// UsualOf is what is usual for a model. One that does not know it is asked for sentences
// that have nothing to do with each other.
func UsualOf(ctx context.Context, m embed.Embedder) (own Usual, err error) {
	if k, ok := m.(Known); ok {
		return k.Usual(), nil
	}
	_, prefix := embed.Forms(m.Name())
	var texts []string
	for line := range strings.Lines(sentences) {
		texts = append(texts, prefix+strings.TrimSpace(line))
	}
	raw, err := m.Embed(ctx, texts)
	if err != nil {
		return own, err
	}
	sp := NewSpace(len(raw[0]))
	for i, r := range raw {
		v, err := Quantized(r)
		if err != nil || len(v) != sp.dim {
			return own, fmt.Errorf("%w: vectors of several lengths", model.ErrAnswer)
		}
		sp.Put(texts[i], []Vector{v})
	}
	return sp.usual(own), nil
}

// sentences are 200 that have nothing to do with each other.
//
//go:embed sentences.txt
var sentences string

// of is one of all vectors.
func (sp *Space) of(i int) []int8 { return sp.numbers[i*sp.dim : (i+1)*sp.dim] }
