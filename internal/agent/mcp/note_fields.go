package mcp

import (
	"context"
	"encoding/json"

	"engramd/internal/memory/write"
)

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
