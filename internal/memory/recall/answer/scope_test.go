package answer

import (
	"strings"
	"testing"

	"engramd/internal/memory/recall"
)

// harbour has the same matters in two projects, and one of neither, beside others.
var harbour = map[string]string{
	"mem/projects/pier/paint":  "The planks are painted with tar in April.",
	"mem/projects/barge/paint": "The planks are painted with white lead in May.",
	"mem/journal/b":            "---\ntype: episodic\nproject: barge\n---\nThe planks were painted twice.",
	"mem/projects/raft/paint":  "The planks are painted by the crew.",
	"mem/people/ana":           "Ana brings the brushes with which planks are painted.",
	"mem/projects/raft/keel":   "The keel is of oak.",
	"mem/projects/raft/fuel":   "Its engine takes diesel.",
	"mem/projects/raft/lamps":  "Lamps are lit at dusk.",
	"mem/projects/raft/crew":   "Two hands are enough in calm weather.",
	"mem/projects/raft/berth":  "It lies behind the customs house.",
	"mem/projects/raft/tax":    "Duties are paid in January.",
	"mem/people/eli":           "Eli sleeps late on Sundays.",
	"mem/people/kim":           "Kim teaches chess to her cousins.",
	"mem/places/mill":          "The mill grinds rye and wheat.",
	"mem/places/bakery":        "Bread is sold until noon.",
	"mem/birds":                "Storks nest on the chimney.",
	"mem/rules":                "Letters are answered within a week.",
	"mem/tools/printer":        "The printer takes A4 from the lower tray.",
	"mem/tools/radio":          "Channel 12 is kept free.",
	"mem/tools/stove":          "The stove burns beech, never pine.",
}

var onPier = Scope{Own: []string{"pier"}, Last: "pier", Others: []recall.Project{{Name: "barge", Remote: "x.org/bo/barge", Last: "barge"}}}

// TestScope: the answer is the project's and what is of none; another's is counted,
// and comes if it is asked for, headed as what it is.
func TestScope(t *testing.T) {
	v := over(t, State{AsOf: now}, harbour)
	with := func(change func(*Query)) Query {
		q := Query{Text: "How are the planks painted?", Scope: onPier}
		change(&q)
		return q
	}
	home, every := "mem/people/ana mem/projects/pier/paint mem/projects/raft/paint", "mem/journal/b mem/people/ana mem/projects/barge/paint mem/projects/pier/paint mem/projects/raft/paint"
	for name, tt := range map[string]struct {
		q      Query
		want   string
		others int
		last   string
	}{
		"asked":              {with(func(*Query) {}), home, 2, "(2 in other projects: all_projects)\n"},
		"told":               {with(func(q *Query) { q.Scope.Told = true }), "mem/people/ana mem/projects/pier/paint", 3, "(3 in other projects: all_projects)\n"},
		"asked for all":      {with(func(q *Query) { q.Scope.All = true }), every, 0, ""},
		"named":              {with(func(q *Query) { q.Text = "How are the planks of bo/barge painted?" }), every, 0, ""},
		"by its prefix":      {with(func(q *Query) { q.Prefix = "projects/barge" }), "mem/projects/barge/paint", 0, ""},
		"all slugs' prefix":  {with(func(q *Query) { q.Prefix = "mem/" }), home, 2, "(2 in other projects: all_projects)\n"},
		"outside, asked":     {with(func(q *Query) { q.Scope = Scope{Others: onPier.Others} }), every, 0, ""},
		"outside, told":      {with(func(q *Query) { q.Scope = Scope{Others: onPier.Others, Told: true} }), "mem/people/ana", 3, "(3 in projects: memory_recall)\n"},
		"told, nothing fits": {with(func(q *Query) { q.Scope.Told = true; q.Text = "white lead" }), "", 0, ""},
		"other filters hold": {with(func(q *Query) { q.Types = []string{"episodic"} }), "", 1, ""},
	} {
		answer := Recall
		if tt.q.Scope.Told {
			answer = Tell
		}
		a, err := answer(v, tt.q, now)
		if err != nil || slugs(a.Hits) != tt.want || a.Others != tt.others || !strings.HasSuffix(a.Block, tt.last) || tt.last == "" && strings.Contains(a.Block, "projects:") {
			t.Errorf("%s: %s, %d others, %v\n%s", name, slugs(a.Hits), a.Others, err, a.Block)
		}
		for _, h := range a.Hits {
			theirs := strings.Contains(h.Slug, "barge") || h.Slug == "mem/journal/b"
			if (h.Project == "x.org/bo/barge") != theirs || strings.Contains(a.Block, h.Slug+" (project x.org/bo/barge") != theirs {
				t.Errorf("%s: %s is of %q\n%s", name, h.Slug, h.Project, a.Block)
			}
		}
		if tt.q.Scope.Told {
			continue
		}
		f, err := Search(v, tt.q, 0, now)
		if err != nil || f.Total != len(a.Hits) || f.Others != tt.others {
			t.Errorf("%s, searched: %d, %d others, %v", name, f.Total, f.Others, err)
		}
		for _, h := range f.Hits {
			if (h.Project == "") == (strings.Contains(h.Slug, "barge") || h.Slug == "mem/journal/b") {
				t.Errorf("%s, searched: %s is of %q", name, h.Slug, h.Project)
			}
		}
	}
	left, err := Explain(v, with(func(*Query) {}), now)
	if err != nil || len(left) != 2 || left[0].Reason != "project" || left[1].Reason != "project" {
		t.Errorf("left out: %v, %v", left, err)
	}
}

// The count stands within the budget, and a title says whose it is.
func TestScopeWithinTheBudget(t *testing.T) {
	v := over(t, State{AsOf: now}, harbour)
	for budget := MinBudget; budget < 900; budget++ {
		q := Query{Text: "How are the planks painted?", Budget: budget, Scope: onPier}
		a, err := Recall(v, q, now)
		if err != nil || len(a.Block) > budget || len(a.Hits)+a.More != 3 || a.Block != "" && !strings.HasSuffix(a.Block, "\n(2 in other projects: all_projects)\n") {
			t.Fatalf("%d bytes of %d, %v\n%s", len(a.Block), budget, err, a.Block)
		}
		q.Scope.All = true
		if a, _ = Recall(v, q, now); strings.Contains(a.Block, "barge/paint: ") {
			t.Errorf("a title does not say whose it is\n%s", a.Block)
		}
	}
}

// TestShownKeepsItsPlace: what was shown is not shown again, and what is worse does
// not come in its place, neither in the order nor in the room.
func TestShownKeepsItsPlace(t *testing.T) {
	v := over(t, State{AsOf: now}, harbour)
	for budget := MinBudget; budget < 900; budget++ {
		q := Query{Text: "How are the planks painted?", Budget: budget}
		before, err := Recall(v, q, now)
		if err != nil {
			t.Fatal(err)
		}
		for i := range before.Hits {
			q.Shown = func(slug string, _ int) bool { return slug == before.Hits[i].Slug }
			a, err := Recall(v, q, now)
			want := append(append([]Hit{}, before.Hits[:i]...), before.Hits[i+1:]...)
			if err != nil || slugs(a.Hits) != slugs(want) || a.More != before.More || strings.Contains(a.Block, before.Hits[i].Slug) {
				t.Fatalf("%d bytes, %s was shown: %s, %d more, %v, want %s, %d more\n%s", budget, before.Hits[i].Slug, slugs(a.Hits), a.More, err, slugs(want), before.More, a.Block)
			}
		}
	}
	q := Query{Text: "How are the planks painted?", Shown: func(string, int) bool { return true }}
	if a, err := Recall(v, q, now); err != nil || a.Block != "" || len(a.Hits) != 0 || a.More != 0 {
		t.Errorf("all was shown: %+v, %v", a, err)
	}
}
