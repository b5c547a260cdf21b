package mcp

import (
	"context"
	"crypto/rand"

	"engramd/internal/client"
	"engramd/internal/remember"
	"engramd/nips/nipae"
)

type noteIn struct {
	Text        string             `json:"text"`
	Tags        []string           `json:"tags,omitempty"`
	Salience    *float64           `json:"salience,omitempty"`
	Emotion     map[string]float64 `json:"emotion,omitempty" jsonschema:"joy: 0.6"`
	Links       []string           `json:"links,omitempty" jsonschema:"slugs it is about"`
	AllowSecret bool               `json:"allow_secret,omitempty"`
}

const describeNote = `Note what just happened; its slug is in mem/journal.`

// note writes an episode. It takes no place among the calls that run: those that
// arrive together share one (placed).
func (s *Server) note(ctx context.Context, in noteIn) (writeOut, error) {
	links, err := parseLinks(in.Links)
	if err != nil {
		return writeOut{}, err
	}
	if err := checkText(in.Text); err != nil {
		return writeOut{}, err
	}
	n := remember.Note{Text: in.Text, Tags: in.Tags, Salience: in.Salience, Emotion: in.Emotion, Links: links}
	r, err := s.writer(ctx).AddNote(ctx, s.notes, rand.Reader, n, guard(in.AllowSecret, true))
	if err != nil {
		return writeOut{}, failedWrite(r.Slug, r, err)
	}
	return s.wrote(r.Slug, r), nil
}

// parseLinks reads slugs that a note names; it may name any.
func parseLinks(texts []string) (all []nipae.Slug, err error) {
	for _, text := range texts {
		slug, err := parseSlug(text)
		if err != nil {
			return nil, err
		}
		all = append(all, slug)
	}
	return all, nil
}

// placed adds texts as one call among those that run.
type placed struct{ s *Server }

func (p placed) Add(ctx context.Context, texts []client.NewText) ([]client.Added, error) {
	return reading(ctx, p.s, func(ctx context.Context) ([]client.Added, error) { return p.s.o.Memory.Add(ctx, texts) })
}
