package consolidation

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"engramd/internal/memory/recall/answer"
)

var now = time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)

// texts is a memory by slug.
type texts map[string]string

// view makes a view of it; each text was written a year ago, if it does not say.
func (m texts) view(t testing.TB) answer.View {
	t.Helper()
	var all []answer.Held
	for _, slug := range slices.Sorted(maps.Keys(m)) {
		all = append(all, answer.Held{Head: answer.Head{Slug: slug, Size: len(m[slug]), UpdatedAt: now.AddDate(-1, 0, 0).Unix()}, Text: m[slug]})
	}
	source, err := answer.Load(all, answer.State{AsOf: now})
	if err != nil {
		t.Fatal(err)
	}
	var view answer.View
	if err := source.Read(t.Context(), func(v answer.View) error { view = v; return nil }); err != nil {
		t.Fatal(err)
	}
	return view
}

func (m texts) at(slug string) (head, hash string, ok bool) {
	text, ok := m[slug]
	if !ok {
		return "", "", false
	}
	return text, Hash(text), true
}

func (m texts) text(slug string) (string, bool) { s, ok := m[slug]; return s, ok }

// with returns the memory after changes.
func (m texts) with(all []Change) texts {
	after := maps.Clone(m)
	for _, c := range all {
		after[c.Slug] = c.New
	}
	return after
}

func (m texts) prepare(t testing.TB, o PrepareOptions) Plan {
	t.Helper()
	o.Now = now
	p, err := Prepare(m.view(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (m texts) check(t testing.TB, p Plan, ops ...Op) ([]Change, error) {
	t.Helper()
	return Check(p, ops, m.at, CheckOptions{Now: now, Session: "s1", View: m.view(t)})
}

// suited is a plan of what it shows as Prepare would make it for what operations name: of
// the agent's own, or of somebody else's words with what stands beside.
func (m texts) suited(t testing.TB, p Plan, ops ...Op) Plan {
	t.Helper()
	from, names := &origins{view: m.view(t)}, namesOf(ops)
	others := slices.ContainsFunc(p.Units, func(u Shown) bool { return slices.Contains(names, u.Slug) && from.stranger(u.Slug) != "" })
	var units []Shown
	for _, u := range p.Units {
		theirs := from.stranger(u.Slug) != ""
		if others && !theirs && u.Role != Drawn {
			u.Role = Beside
		}
		if others || !theirs {
			units = append(units, u)
		}
	}
	p.Units = units
	return p.Identify()
}

// namesOf are the slugs that operations name.
func namesOf(ops []Op) (all []string) {
	for _, op := range ops {
		all = slices.Concat(all, []string{op.Slug, op.Old, op.New, op.From, op.To}, op.DerivedFrom, op.InspiredBy)
	}
	return all
}

// a unit with front matter.
func a(typ, fields, body string) string {
	return fmt.Sprintf("---\ntype: %s\n%s---\n%s\n", typ, fields, body)
}

// episode happened on a day of November.
func episode(day int, fields, body string) string {
	return a("episodic", fmt.Sprintf("created: 2026-11-%02dT06:00:00Z\n%s", day, fields), body)
}

// showing makes a plan that shows units of the memory in the roles given, as
// Prepare would.
func (m texts) showing(roles map[string]Role) Plan {
	p := Plan{Kind: Consolidate, Made: now}
	for _, slug := range slices.Sorted(maps.Keys(roles)) {
		p.Units = append(p.Units, Shown{Slug: slug, Hash: Hash(m[slug]), Role: roles[slug]})
	}
	return p.Identify()
}
