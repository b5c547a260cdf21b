package mcp

import (
	"context"
	"strings"
	"testing"
	"time"

	"engramd/internal/memory/intentions"
	"engramd/internal/memory/recall"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// TestProjectOfTheSession: in a linked folder recall and search answer from its
// project and what is of none, say how many they left out, and give all if asked;
// and what is noted there belongs to it.
func TestProjectOfTheSession(t *testing.T) {
	asOf := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	texts := map[string]string{
		"mem/projects/x-org/ana/pier-1a2b3c4d/paint": "The planks are painted with tar.",
		"mem/projects/x-org/bo/barge-1a2b3c4d/paint": "The planks are painted with white lead.",
		"mem/people/ana/paint":                       "Ana has the planks painted with brushes.",
		// Others, beside which the words above say something.
		"mem/people/kim": "Kim teaches chess.", "mem/places/mill": "The mill grinds rye.", "mem/birds": "Storks nest on the chimney.",
		"mem/rules": "Letters are answered within a week.", "mem/stove": "The stove burns beech.", "mem/radio": "Channel 12 is kept free.",
	}
	at := intentions.Place{Project: "x-org/ana/pier-1a2b3c4d"}
	f := newFake()
	p := connect(t, newServer(options{Memory: f, Copy: copyOf(t, recallanswer.State{AsOf: asOf}, texts), Clock: func() time.Time { return asOf },
		Place: func(context.Context) intentions.Place { return at },
		Scope: func(context.Context) recallanswer.Scope {
			s := recallanswer.Scope{Others: []recall.Project{{Name: "x-org/bo/barge-1a2b3c4d", Remote: "x.org/bo/barge", Last: "barge"}}}
			if at.Linked {
				s.Own = []string{at.Project}
			}
			return s
		}}))
	for _, step := range []struct {
		linked       bool
		a            args
		hits, others int
	}{
		{false, args{"query": "How are the planks painted?"}, 3, 0},
		{true, args{"query": "How are the planks painted?"}, 2, 1},
		{true, args{"query": "How are the planks painted?", "all_projects": true}, 3, 0},
		{true, args{"query": "How are the planks of bo/barge painted?"}, 3, 0},
	} {
		at.Linked = step.linked
		r, s := ask[recallOut](p, "memory_recall", step.a), ask[searchOut](p, "memory_search", step.a)
		if len(r.Hits) != step.hits || r.Others != step.others || len(s.Hits) != step.hits || s.Others != step.others || s.Total != step.hits {
			t.Errorf("%v in a linked folder %v: %+v\n%+v", step.a, step.linked, r, s)
		}
		if strings.Contains(r.Block, "(1 in other projects: all_projects)") != (step.others == 1) || strings.Contains(r.Block, "(project x.org/bo/barge; ") != (step.hits == 3) {
			t.Errorf("the block of %v:\n%s", step.a, r.Block)
		}
		theirs := 0
		for _, h := range r.Hits {
			if h.Project == "x.org/bo/barge" {
				theirs++
			}
		}
		for _, h := range s.Hits {
			if h.Project == "x.org/bo/barge" {
				theirs++
			}
		}
		if theirs != 2*(step.hits-2) {
			t.Errorf("%v: %d are another project's", step.a, theirs)
		}
		out := ask[writeOut](p, "memory_note", args{"text": "The tar is black."})
		if got := frontmatter.Parse(f.texts[nipae.Slug(out.Slug)]).Fields().Project; (got == at.Project) != step.linked || got != "" && !step.linked {
			t.Errorf("a note in a linked folder %v is of %q", step.linked, got)
		}
	}
	ask[writeOut](p, "memory_write", args{"slug": "people/bo", "text": "Bo rows."})
	if got := frontmatter.Parse(f.texts["mem/people/bo"]).Fields().Project; got != "" {
		t.Errorf("a fact at a slug of its own is of %q", got)
	}
}
