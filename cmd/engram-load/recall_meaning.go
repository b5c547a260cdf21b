package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/internal/memory/meaning"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/vectors/embed"
)

// model is what a model makes of sets: of sections beforehand, of a question and its
// parts when it is asked.
type model struct {
	ctx    context.Context
	by     embed.Embedder
	usual  meaning.Usual
	spaces map[string]*meaning.Space // by the name of a memory
	err    error                     // the first of a question
}

// embedder is the model that the flags name; nil without one.
func (o *recallOptions) embedder() (embed.Embedder, error) {
	switch {
	case o.embedURL != "":
		return embed.New(embed.Options{URL: o.embedURL, Model: o.embedModel, Key: os.Getenv("ENGRAM_EMBED_KEY"), SendPlaintext: o.plaintext})
	case o.embedModel != "":
		return nil, errors.New("--embed-model needs --embed-url")
	case o.embed == "matrix":
		return meaning.Matrix{}, nil
	case o.embed != "none":
		return nil, fmt.Errorf("--embed is %q; it must be matrix or none", o.embed)
	}
	return nil, nil
}

// meaning makes the vectors of all sections; nil without a model.
func (o *recallOptions) meaning(ctx context.Context, sets []*measure.Set) (*model, error) {
	by, err := o.embedder()
	if err != nil {
		return nil, usageError{err}
	}
	if by == nil {
		return nil, nil
	}
	v := &model{ctx: ctx, by: by, spaces: map[string]*meaning.Space{}}
	if v.usual, err = meaning.UsualOf(ctx, by); err != nil {
		return nil, err
	}
	for _, set := range sets {
		for i := range set.Memories {
			if err := v.read(&set.Memories[i]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// read makes the vectors of a memory's sections.
func (v *model) read(m *measure.Memory) error {
	var sp *meaning.Space
	_, prefix := embed.Forms(v.by.Name())
	for _, d := range m.Documents {
		texts := recall.Sections(d)
		for j := range texts {
			texts[j] = prefix + texts[j]
		}
		raw, err := v.by.Embed(v.ctx, texts)
		if err != nil {
			return err
		}
		all := make([]meaning.Vector, len(raw))
		for i, r := range raw {
			if all[i], err = meaning.Quantized(r); err != nil {
				return err
			}
		}
		if sp == nil {
			sp = meaning.NewSpace(len(all[0]))
		}
		sp.Put(d.Slug, all)
	}
	v.spaces[m.Name] = sp
	return nil
}

// meaning is near, or nil.
func (v *model) meaning() measure.Meaning {
	if v == nil {
		return nil
	}
	return v.near
}

// near is a measure.Meaning.
func (v *model) near(m *measure.Memory, texts []string) recall.Near {
	if v.err == nil {
		var queries map[string]meaning.Vector
		if queries, v.err = meaning.Queries(v.ctx, v.by, texts); v.err == nil && v.spaces[m.Name] != nil {
			return v.spaces[m.Name].Near(queries, v.usual)
		}
	}
	return func(string) (recall.Nearness, bool) { return recall.Nearness{}, false }
}
