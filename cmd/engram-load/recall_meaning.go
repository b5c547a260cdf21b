package main

import (
	"context"
	"errors"
	"math"
	"os"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/vectors/embed"
)

// vectors are what a model makes of a set: of its sections beforehand, of a
// question when it is asked.
type vectors struct {
	ctx       context.Context
	model     embed.Embedder
	sections  map[string][][]float32 // by memory and slug
	questions map[string][]float32
	err       error // the first of a question
}

// meaning asks the model that the flags name; nil without one.
func (o *recallOptions) meaning(ctx context.Context, sets []*measure.Set) (*vectors, error) {
	if o.embedURL == "" {
		if o.embedModel != "" {
			return nil, usageError{errors.New("--embed-model needs --embed-url")}
		}
		return nil, nil
	}
	model, err := embed.New(embed.Options{URL: o.embedURL, Model: o.embedModel, Key: os.Getenv("ENGRAM_EMBED_KEY"), SendPlaintext: o.plaintext})
	if err != nil {
		return nil, usageError{err}
	}
	v := &vectors{ctx: ctx, model: model, sections: map[string][][]float32{}, questions: map[string][]float32{}}
	_, prefix := embed.Forms(model.Name())
	for _, set := range sets {
		for i := range set.Memories {
			if err := v.read(&set.Memories[i], prefix); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// read makes the vectors of a memory's sections.
func (v *vectors) read(m *measure.Memory, prefix string) (err error) {
	for _, d := range m.Documents {
		texts := recall.Sections(d)
		for j := range texts {
			texts[j] = prefix + texts[j]
		}
		if v.sections[m.Name+" "+d.Slug], err = v.model.Embed(v.ctx, texts); err != nil {
			return err
		}
	}
	return nil
}

// near is a measure.Meaning.
func (v *vectors) near(m *measure.Memory, query string) func(slug string, section int) (float64, bool) {
	q, ok := v.questions[query]
	if !ok && v.err == nil {
		prefix, _ := embed.Forms(v.model.Name())
		var one [][]float32
		if one, v.err = v.model.Embed(v.ctx, []string{prefix + query}); v.err == nil {
			q = one[0]
			v.questions[query] = q
		}
	}
	return func(slug string, section int) (float64, bool) {
		all := v.sections[m.Name+" "+slug]
		if section < 0 || section >= len(all) {
			return 0, false
		}
		return cosine(all[section], q), true
	}
}

// cosine is that of two vectors of one model, 0 if one failed.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return dot / math.Sqrt(aa*bb) // no vector of embed is zero
}
