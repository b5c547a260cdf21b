package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
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

// noteTool has fields that no schema shows, since every tool's arguments stand in
// each session's context: models give those that memory_write has.
const noteTool = "memory_note"

type noteFields struct {
	Tags     []string           `json:"tags"`
	Salience *float64           `json:"salience"`
	Emotion  map[string]float64 `json:"emotion"`
	Links    []string           `json:"links"`
}

type noteFieldsKey struct{}

// withNoteFields takes the fields of a note out of its arguments, before the SDK
// validates them.
func withNoteFields(ctx context.Context, arguments json.RawMessage) (context.Context, json.RawMessage, error) {
	var given map[string]json.RawMessage
	if json.Unmarshal(arguments, &given) != nil {
		return ctx, arguments, nil
	}
	fields := map[string]json.RawMessage{}
	for _, name := range []string{"tags", "salience", "emotion", "links"} {
		if value, ok := given[name]; ok {
			fields[name] = value
			delete(given, name)
		}
	}
	if len(fields) == 0 {
		return ctx, arguments, nil
	}
	taken, err := json.Marshal(fields)
	if err != nil {
		return ctx, nil, err
	}
	var f noteFields
	if json.Unmarshal(taken, &f) != nil {
		return ctx, nil, invalidf("tags and links are lists of texts, salience is a number, emotion names numbers.")
	}
	rest, err := json.Marshal(given)
	return context.WithValue(ctx, noteFieldsKey{}, f), rest, err
}

// noteOf returns the note of a call.
func noteOf(ctx context.Context, text string) (write.Note, error) {
	f, _ := ctx.Value(noteFieldsKey{}).(noteFields)
	n := write.Note{Text: text, Tags: f.Tags, Salience: f.Salience, Emotion: f.Emotion}
	for _, link := range f.Links {
		slug, err := parseSlug(link)
		if err != nil {
			return n, err
		}
		n.Links = append(n.Links, slug)
	}
	return n, nil
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

// arrival is when a call was read; zero if that is not known.
func arrival(ctx context.Context) time.Time {
	at, _ := ctx.Value(arrivalKey{}).(time.Time)
	return at
}
