package answer

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
)

// Everything that has to do with a question is in the answer, or is named with the
// reason why not; its age is none.
func TestExplain(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	old := now.AddDate(-30, 0, 0).Unix()
	long := strings.Repeat("Walnuts and nothing else grow there in rows. ", 20)
	source, err := Load([]Held{
		{Head{Slug: "mem/new", UpdatedAt: now.Unix()}, "The walnut trees are cut in May."},
		{Head{Slug: "mem/old", UpdatedAt: old}, "Cutting walnut trees takes two days with Ana."},
		{Head{Slug: "mem/archived", UpdatedAt: now.Unix()}, "---\nstate: archived\n---\nThe walnut trees were cut in June."},
		{Head{Slug: "mem/external", UpdatedAt: now.Unix()}, "---\ntrust: external\n---\nWalnut trees need no cut, says the paper."},
		{Head{Slug: "mem/tagged", UpdatedAt: now.Unix()}, "---\ntags: [x]\n---\n" + long + "A walnut tree was cut."},
		{Head{Slug: "mem/bakery", UpdatedAt: now.Unix()}, "The bakery fills its pastry with flour, sugar and walnut."},
		{Head{Slug: "mem/sys/x", UpdatedAt: now.Unix()}, "walnut trees cut"},
	}, State{})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		q    Query
		want map[string]string
	}{
		"plain":   {Query{Text: "when are walnut trees cut"}, map[string]string{"mem/archived": "state: archived", "mem/bakery": "threshold"}},
		"trust":   {Query{Text: "when are walnut trees cut", MinTrust: "observed"}, map[string]string{"mem/archived": "state: archived", "mem/bakery": "threshold", "mem/external": "trust: external"}},
		"budget":  {Query{Text: "when are walnut trees cut", Budget: MinBudget, States: []string{"active"}, MinTrust: "observed", Prefix: "tagged"}, nil},
		"tail":    {Query{Text: "walnut bakery pastry oven flour sugar"}, nil},
		"nothing": {Query{Text: "zebra"}, nil},
	} {
		err := source.Read(t.Context(), func(v View) error {
			a, err := Recall(v, tt.q, now)
			if err != nil {
				return err
			}
			left, err := Explain(v, tt.q, now)
			got := map[string]string{}
			for _, l := range left {
				got[l.Slug] = l.Reason
			}
			for _, h := range a.Hits {
				if r, ok := got[h.Slug]; ok {
					t.Errorf("%s: %s is in the answer, and left out for %s", name, h.Slug, r)
				}
			}
			switch name {
			case "budget":
				if got["mem/old"] != "filter: prefix" || strings.HasPrefix(got["mem/tagged"], "filter") {
					t.Errorf("%s: %v", name, got)
				}
			case "tail":
				if slugs(a.Hits) != "mem/bakery" || got["mem/new"] != "threshold" {
					t.Errorf("%s: %v, %v", name, a.Hits, got)
				}
			default:
				if !maps.Equal(got, tt.want) {
					t.Errorf("%s: %v, not %v; hits %v", name, got, tt.want, a.Hits)
				}
			}
			if got["mem/sys/x"] != "" {
				t.Errorf("%s: what programs keep is named", name)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	var m *Mistake
	if err := source.Read(t.Context(), func(v View) error { _, err := Explain(v, Query{}, now); return err }); !errors.As(err, &m) {
		t.Error(err)
	}
}

// TestExplainMeasuresTheAnswer: at every budget a memory is in the answer, or left out
// for it.
func TestExplainMeasuresTheAnswer(t *testing.T) {
	v := over(t, State{AsOf: now}, harbour)
	for budget := MinBudget; budget < 600; budget++ {
		for _, text := range []string{"How are the planks painted?", "Is a plank painted by the neighbours, or by their children in winter?"} {
			q := Query{Text: text, Budget: budget, Scope: onPier}
			a, err := Recall(v, q, now)
			if err != nil {
				t.Fatal(err)
			}
			all, err := Explain(v, q, now)
			left := 0
			for _, l := range all {
				if l.Reason == "budget" {
					left++
				}
			}
			if err != nil || left != a.More {
				t.Fatalf("%d bytes, %s: %d are left out, and %d are named: %v, %v", budget, text, a.More, left, all, err)
			}
		}
	}
}
