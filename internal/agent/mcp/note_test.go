package mcp

import (
	"context"
	"strings"
	"testing"

	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
)

func (f *fake) Add(ctx context.Context, texts []memory.NewText) (all []memory.Added, err error) {
	for _, t := range texts {
		var a memory.Added
		a.Entry, a.Status, a.Err = f.Set(ctx, t.Slug, t.Text, memory.SetOptions{Base: memory.BaseNone})
		all = append(all, a)
	}
	return all, nil
}

func TestNote(t *testing.T) {
	f := newFake()
	p := connect(t, newServer(options{Memory: f, Session: "8c35adc1"}))
	out := ask[writeOut](p, "memory_note", args{"content": "---\ntags: [atlas]\nemotion: {joy: 0.5}\nrelated_to: [mem/people/ana]\ntrust: told\n---\nAna chose SQLite."})
	if !strings.HasPrefix(out.Slug, "mem/journal/20") || out.Outcome != string(write.Created) || out.StoredOn != 1 || out.Trust != "observed" || len(f.texts) != 1 {
		t.Errorf("answered %+v", out)
	}
	for _, text := range f.texts {
		fields := frontmatter.Parse(text).Fields()
		if fields.Type != frontmatter.Episodic || fields.Session != "8c35adc1" || !strings.HasSuffix(fields.Source, ":8c35adc1") || len(fields.Relations) != 1 {
			t.Errorf("written: %s", text)
		}
	}
	for name, in := range map[string]args{
		"tags":        {"text": "x", "tags": []string{"atlas"}},
		"salience":    {"text": "x", "salience": 0.7},
		"no text":     {"text": ""},
		"emotion":     {"text": "---\nemotion: {joy: 7}\n---\nx"},
		"how salient": {"text": "---\nsalience: much\n---\nx"},
		"a secret":    {"text": "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"},
		"another key": {"text": "x", "source": "owner"},
	} {
		if p.refused("memory_note", in); len(f.texts) != 1 {
			t.Errorf("%s: it was written", name)
		}
	}
}
