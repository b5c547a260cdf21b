package answer

import (
	"slices"
	"testing"
	"time"

	"engramd/internal/memory/activity"
)

// TestNoCorrectionIsArchivedAlone: a correction is as active as what it corrects, and
// goes only with the episodes that would be found in its place.
func TestNoCorrectionIsArchivedAlone(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	long := " It was a long talk of boats and of other matters, from the harbour to the hills and back again, with much laughter in between."
	held := []Held{
		{Head{Slug: "mem/ana/coffee", UpdatedAt: now.Unix()}, "---\ntrust: derived\nderived_from: mem/j/coffee\nsupersedes: mem/ana/tea\n---\nAna drinks coffee in the morning." + long},
		{Head{Slug: "mem/ana/tea", UpdatedAt: now.Unix()}, "---\ntrust: derived\nstate: superseded\nderived_from: mem/j/tea\n---\nAna likes tea in the morning."},
		{Head{Slug: "mem/boat", UpdatedAt: now.Unix()}, "Ana has a boat." + long},
		{Head{Slug: "mem/j/coffee", UpdatedAt: now.Unix()}, "---\ntype: episodic\n---\nAna drinks coffee now." + long},
		{Head{Slug: "mem/j/tea", UpdatedAt: now.Unix()}, "---\ntype: episodic\nsalience: 1\n---\nAna likes tea in the morning."},
		{Head{Slug: "mem/tea/too", UpdatedAt: now.Unix()}, "---\ntrust: external\nsupersedes: mem/ana/tea\n---\nAna likes neither." + long},
	}
	source, err := Load(held, State{})
	if err != nil {
		t.Fatal(err)
	}
	var units []activity.Unit
	if err := source.Read(t.Context(), func(v View) error {
		units = Units(v, activity.Known{Uses: map[string]activity.Use{"mem/ana/tea": {N: 40, Last: now}}})
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	by := map[string]activity.Unit{}
	for _, u := range units {
		by[u.Slug] = u
	}
	if a := by["mem/ana/coffee"].Activation(now); a < 5 || by["mem/tea/too"].Activation(now) > 5 {
		t.Errorf("the correction is at %v, and what has too little trust at %v", a, by["mem/tea/too"].Activation(now))
	}
	for i := range units { // let the correction be worth least, as without uses of what it corrects
		if units[i].Slug == "mem/ana/coffee" {
			units[i].Corrects, units[i].Feedback.Wrong = nil, 1000
		}
	}
	total := activity.Total(units)
	for budget := range total {
		var gone []string
		for _, u := range activity.Candidates(units, budget, now) {
			gone = append(gone, u.Slug)
		}
		coffee, tea := slices.Index(gone, "mem/ana/coffee"), slices.Index(gone, "mem/j/tea")
		if coffee >= 0 && (tea < 0 || tea > coffee) {
			t.Fatalf("of %d tokens, in %d: %v", total, budget, gone)
		}
		if budget == 0 && len(gone) != len(units) {
			t.Errorf("only %v", gone)
		}
	}
}
