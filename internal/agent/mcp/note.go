package mcp

import (
	"context"
	"crypto/rand"

	"engramd/internal/client/memory"
)

// noteIn is small, since every tool's arguments stand in each session's context:
// front matter takes the rest.
type noteIn struct {
	Text string `json:"text" jsonschema:"may begin with front matter: tags, salience, emotion, related_to"`
}

const describeNote = `Note what just happened, was said or decided, at a slug that it gets in mem/journal: an episode, not a fact.`

// note writes an episode. It takes no place among the calls that run: those that
// arrive together share one (placed).
func (s *writeTools) note(ctx context.Context, in noteIn) (writeOut, error) {
	if err := checkText(in.Text); err != nil {
		return writeOut{}, err
	}
	n, err := noteOf(ctx, in.Text)
	if err != nil {
		return writeOut{}, err
	}
	n.At = arrival(ctx)
	r, err := s.m.writer(ctx).AddNote(ctx, s.m.notes, rand.Reader, n, guard(false, true))
	if err != nil {
		return writeOut{}, failedWrite(r.Slug, r, err)
	}
	s.m.calls.changed(ctx, r.Slug)
	return s.m.wrote(r.Slug, r), nil
}

// placed adds texts as one call among those that run.
type placed struct{ m *memories }

func (p placed) Add(ctx context.Context, texts []memory.NewText) ([]memory.Added, error) {
	return reading(ctx, p.m.calls, func(ctx context.Context) ([]memory.Added, error) { return p.m.session.Add(ctx, texts) })
}
