package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	recallanswer "engramd/internal/memory/recall/answer"
)

// kitchen is what README plants, beside memories of other matters.
var kitchen = map[string]string{
	"mem/people/ada":    "Ada prefers coffee to tea in the morning, without sugar.",
	"mem/people/kim":    "Kim teaches chess to her cousins on Saturdays.",
	"mem/tools/stove":   "The stove burns beech, never pine: pine leaves tar in the pipe.",
	"mem/tools/printer": "---\ntrust: external\n---\nThe printer takes A4 from the lower tray.",
	"mem/birds":         "Storks nest on the chimney from March on.",
	"mem/old":           "---\nstate: archived\n---\nThe cellar floods in April.",
}

// TestRecallSaysHowWellItFits: README's question is answered, a weak answer begins by
// saying so, and none names what to try. A hit is its slug, fit and reasons; the rest
// comes with detail.
func TestRecallSaysHowWellItFits(t *testing.T) {
	asOf := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	p := connect(t, newServer(options{Memory: never(t), Copy: copyOf(t, recallanswer.State{AsOf: asOf}, kitchen), Clock: func() time.Time { return asOf }}))
	for query, want := range map[string]struct{ fit, first, block, try string }{
		"What does Ada like?":                                 {"", "mem/people/ada", "| Ada prefers coffee to tea in the morning, without sugar.\n", ""},
		"Which wood does the stove burn?":                     {"strong", "mem/tools/stove", "Lines behind |", ""},
		"Is the pipe organ played by the neighbours' choirs?": {"weak", "mem/tools/stove", "No memory fits well; these are the nearest.\nLines behind |", ""},
		"When does the cellar flood?":                         {"none", "", "", "a wider filter: mem/old is left out (state: archived)"},
		"Quantum chromodynamics":                              {"none", "", "", "memory_search with single words, or memory_list"},
	} {
		got := ask[recallOut](p, "memory_recall", args{"query": query})
		if want.fit != "" && got.Fit != want.fit || got.Try != want.try || (len(got.Hits) > 0) != (want.first != "") || !strings.Contains(got.Block, want.block) || want.fit == "weak" && !strings.HasPrefix(got.Block, want.block) {
			t.Errorf("%s: %+v", query, got)
			continue
		}
		if want.first != "" && (got.Hits[0].Slug != want.first || got.Hits[0].Fit == "none") {
			t.Errorf("%s: %+v", query, got.Hits)
		}
	}

	keys := func(in args) (hit, detail []string) {
		t.Helper()
		out := ask[struct{ Hits []map[string]json.RawMessage }](p, "memory_recall", in)
		if len(out.Hits) == 0 {
			t.Fatalf("%v: no hits", in)
		}
		for key := range out.Hits[0] {
			hit = append(hit, key)
		}
		more := map[string]json.RawMessage{}
		if raw, ok := out.Hits[0]["detail"]; ok {
			if err := json.Unmarshal(raw, &more); err != nil {
				t.Fatal(err)
			}
		}
		for key := range more {
			detail = append(detail, key)
		}
		slices.Sort(hit)
		return hit, detail
	}
	if hit, _ := keys(args{"query": "printer"}); !slices.Equal(hit, []string{"fit", "slug", "why"}) {
		t.Errorf("a hit has %v", hit)
	}
	hit, detail := keys(args{"query": "printer", "detail": true})
	if !slices.Equal(hit, []string{"detail", "fit", "slug", "why"}) {
		t.Errorf("a hit with detail has %v", hit)
	}
	for _, key := range []string{"title", "size", "type", "trust", "state", "when", "updated_at", "words", "whole"} {
		if !slices.Contains(detail, key) {
			t.Errorf("its detail lacks %s: %v", key, detail)
		}
	}
}
