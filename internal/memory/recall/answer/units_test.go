package answer

import (
	"testing"
	"time"

	"engramd/internal/memory/activity"
)

// What machines keep is no unit, and each writer counts once, by the most it said.
func TestUnitsAndUses(t *testing.T) {
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	usage := func(n int64, slug string) string {
		return activity.EncodeUsage(map[string]activity.Use{slug: {N: n, Last: now}})
	}
	held := []Held{
		{Head{Slug: "core", UpdatedAt: now.Unix()}, "I am. [[mem/linked]]"},
		{Head{Slug: "mem/a", UpdatedAt: now.Unix()}, "---\nsalience: 0.9\n---\nSQLite keeps it."},
		{Head{Slug: "mem/linked", UpdatedAt: now.Unix()}, "linked"},
		{Head{Slug: "mem/gone", UpdatedAt: now.Unix()}, "---\nstate: archived\n---\nSQLite"},
		{Head{Slug: "mem/sys/usage/01", UpdatedAt: now.Unix()}, usage(4, "mem/a")},
		{Head{Slug: "mem/sys/usage/02", UpdatedAt: now.Unix()}, usage(5, "mem/a")},
		{Head{Slug: "mem/sys/usage/me", UpdatedAt: now.Unix()}, usage(7, "mem/a")},
		{Head{Slug: "mem/sys/usage/x", UpdatedAt: now.Unix()}, "not of that form"},
	}
	source, err := Load(held, State{})
	if err != nil {
		t.Fatal(err)
	}
	err = source.Read(t.Context(), func(v View) error {
		uses := Uses(v, "me", map[string]activity.Use{"mem/a": {N: 8, Last: now}, "mem/linked": {N: 1, Last: now}}, now)
		if uses["mem/a"].N != 17 || uses["mem/linked"].N != 1 || len(uses) != 2 {
			t.Errorf("%v", uses)
		}
		units := map[string]activity.Unit{}
		for _, u := range Units(v, activity.Known{Uses: uses}) {
			units[u.Slug] = u
		}
		if len(units) != 3 || units["core"].Held != "core" || units["mem/linked"].Held != "linked from core" || units["mem/a"].Salience != 0.9 || units["mem/a"].Uses.N != 17 || units["mem/a"].Information <= 0 {
			t.Errorf("%+v", units)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
