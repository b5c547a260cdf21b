package mcp

import (
	"context"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
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
	at, _ := ctx.Value(arrivalKey{}).(time.Time) // zero without one
	r, err := s.m.writer(ctx).AddNote(ctx, s.m.notes, write.Note{Text: in.Text, At: at}, guard(false, true))
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

// headerArrived has the moment at which a call was read. Calls are read one after the
// other and run side by side: this is how one knows its place. The header is of no
// request over HTTP, and what a client sends cannot set it.
const headerArrived = "Engramd-Arrived"

func arrived(now time.Time) *sdk.RequestExtra {
	return &sdk.RequestExtra{Header: http.Header{headerArrived: {write.Moment(now).Format(time.RFC3339Nano)}}}
}

type arrivalKey struct{}

// withArrival keeps when a call was read.
func withArrival(ctx context.Context, extra *sdk.RequestExtra) context.Context {
	if extra == nil {
		return ctx
	}
	at, err := time.Parse(time.RFC3339Nano, extra.Header.Get(headerArrived))
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, arrivalKey{}, at)
}
