package mcp

import (
	"context"
	"slices"
	"strings"
	"testing"

	"engramd/internal/agent/session"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

func TestFeedback(t *testing.T) {
	var useful []bool
	var judged [][]nipae.Slug
	fails := false
	judge := func(_ context.Context, good bool, slugs []nipae.Slug) (int, error) {
		if fails {
			return 0, &session.JudgeError{Slug: "mem/b", Err: client.ErrNotFound}
		}
		useful, judged = append(useful, good), append(judged, slugs)
		return 2_050_000, nil
	}
	p := connect(t, newServer(options{Memory: newFake(), Mind: &Mind{Judge: judge}}))
	out := ask[feedbackOut](p, "memory_feedback", args{"verdict": "useful", "slugs": []string{"a", "mem/a", "mem/b"}})
	if out != (feedbackOut{"useful", 2_050_000}) {
		t.Error(out)
	}
	ask[feedbackOut](p, "memory_feedback", args{"verdict": "Wrong", "slug": "core"})
	if !slices.Equal(useful, []bool{true, false}) || !slices.Equal(judged[0], []nipae.Slug{"mem/a", "mem/b"}) {
		t.Errorf("%v %v", useful, judged)
	}
	for _, in := range []args{{"verdict": "good", "slugs": []string{"a"}}, {"verdict": "useful", "slugs": []string{}}, {"verdict": "useful", "slugs": []string{"mem/sys/x"}},
		{"verdict": "useful", "slugs": slices.Repeat([]string{"a"}, MaxJudged+1)}} {
		if f, _ := p.refused("memory_feedback", in); f.Code != CodeInvalid && f.Code != CodeReserved {
			t.Errorf("%v: %+v", in, f)
		}
	}
	fails = true
	if f, _ := p.refused("memory_feedback", args{"verdict": "useful", "slugs": []string{"a", "b"}}); f.Code != CodeNotFound || !strings.Contains(f.Message, "mem/b") {
		t.Errorf("%+v", f)
	}
	if len(judged) != 2 {
		t.Errorf("%v", judged)
	}
}
