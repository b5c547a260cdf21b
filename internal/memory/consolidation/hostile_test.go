package consolidation

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// hostile makes memories, plans and operations at random, of which many are nearly
// right.
type hostile struct {
	*rand.Rand
	m     texts
	roles map[string]Role
}

func one[T any](h *hostile, all ...T) T { return all[h.IntN(len(all))] }

func (h *hostile) memory() {
	h.m, h.roles = texts{"mem/sys/plans/p-1": "a record"}, map[string]Role{}
	for i := range 6 + h.IntN(10) {
		slug := fmt.Sprintf("mem/u%d", i)
		fields := ""
		for _, f := range []struct{ key, value string }{
			{"trust", one(h, "told", "observed", "derived", "external", "sworn")}, {"state", one(h, "active", "active", "active", "active", "active", "archived", "superseded", "done")},
			{"pin", one(h, "true", "false")}, {"created", fmt.Sprintf("2026-11-%02dT00:00:00Z", 1+h.IntN(21))}, {"source", "claude-code:1"},
			{"derived_from", fmt.Sprintf("[mem/u%d, \"mem/u%d 0.3\"]", h.IntN(15), h.IntN(15))}, {"unknown", "[a, b"},
		} {
			if h.IntN(3) == 0 || f.key == "created" {
				fields += f.key + ": " + f.value + "\n"
			}
		}
		typ := one(h, "episodic", "episodic", "episodic", "semantic", "semantic", "procedural", "insight", "prospective")
		h.m[slug] = a(typ, fields, fmt.Sprintf("Unit %d says that %s is %s. [[mem/u%d]]", i, one(h, "the cup", "the boat"), one(h, "cyan", "red"), h.IntN(15)))
		if h.IntN(20) == 0 {
			h.m[slug] = fmt.Sprintf("Plain text %d.", i)
		}
		d := frontmatter.Parse(h.m[slug]).Fields()
		switch {
		case h.IntN(5) == 0: // the plan does not show it
		case d.Type == frontmatter.Episodic && d.State == frontmatter.Active:
			h.roles[slug] = Episode
		default:
			h.roles[slug] = one(h, Beside, Stale, Stale, Drawn, Drawn)
		}
	}
	if h.IntN(2) == 0 {
		h.m[core] = fmt.Sprintf("I am. [[mem/u%d]] [[mem/u%d]]", h.IntN(15), h.IntN(15))
	}
	if h.IntN(2) == 0 {
		h.m[NarrativeSlug] = a("narrative", one(h, "", "", "trust: told\n", "trust: derived\n"), "I am an agent.")
		h.roles[NarrativeSlug] = NarrativeRole
	}
}

// slug names something that is shown, mostly.
func (h *hostile) slug() string {
	switch h.IntN(100) {
	case 0:
		return one(h, core, "mem/sys/plans/p-1", "mem/sys/x", "mem/proposals/x", "", "Mem/U1", "mem/../core", "mem/nowhere")
	case 1:
		return fmt.Sprintf("u%d", h.IntN(16))
	case 2:
		return h.fresh()
	}
	all := make([]string, 0, len(h.roles))
	for i := range 16 {
		if s := fmt.Sprintf("mem/u%d", i); h.roles[s] != "" || h.IntN(200) == 0 {
			all = append(all, s)
		}
	}
	if h.IntN(12) == 0 || len(all) == 0 {
		return NarrativeSlug
	}
	return one(h, all...)
}

// as names a unit that is shown for a reason.
func (h *hostile) as(role Role) string {
	for range 20 {
		if s := h.slug(); h.roles[s] == role {
			return s
		}
	}
	return h.slug()
}

func (h *hostile) fresh() string { return fmt.Sprintf("mem/new%d", h.IntN(4)) }

func (h *hostile) op(k Kind) Op {
	text := one(h, "The cup is cyan.", "I gathered this.", "Archive everything.", "---\ntrust: told\n---\nx", "\u200b", "x\u202e", "--- \nno front matter")
	if h.IntN(9) > 0 {
		text = "The cup of Ana is cyan."
	}
	var from []string
	for range one(h, 0, 1, 1, 1, 2, 2, 3) {
		from = append(from, h.slug())
	}
	switch nearly := h.IntN(5) > 0; {
	case k == Dream && nearly:
		words := strings.Fields("whales violins glaciers pepper lanterns orchids tunnels marble thunder velvet")
		h.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		return Op{Op: OpWrite, Slug: h.fresh(), Type: "insight", Text: strings.Join(words[:5], " "), InspiredBy: []string{h.as(Drawn), h.as(Drawn)}}
	case k == Archive && nearly:
		return one(h, archive, archive, keep)(h.as(Stale))
	}
	switch one(h, OpWrite, OpWrite, OpSupersede, OpSupersede, OpArchive, OpArchive, OpKeep, OpLink, "odd") {
	case OpWrite:
		op := Op{Op: OpWrite, Slug: h.fresh(), Text: text, DerivedFrom: from}
		if h.IntN(6) == 0 {
			op.Slug, op.Type = one(h, NarrativeSlug, h.slug()), one(h, "narrative", "semantic", "", "insight")
		}
		return op
	case OpSupersede:
		op := Op{Op: OpSupersede, Old: h.slug(), New: one(h, h.fresh(), h.slug()), Why: "newer"}
		if h.IntN(4) > 0 {
			op.New, op.Text, op.DerivedFrom = h.fresh(), text, from
		}
		return op
	case OpArchive:
		return archive(h.slug())
	case OpKeep:
		return keep(h.slug())
	case OpLink:
		return Op{Op: OpLink, From: h.slug(), To: h.slug(), Relation: one(h, "supports", "contradicts", "causes", "related_to", "supersedes", "derived_from", "trust")}
	}
	return Op{Op: one(h, "delete", "", "write", "supersede"), Slug: h.slug(), Old: h.slug(), Why: "\x00"}
}

// Whatever operations ask for, what comes of them breaks no promise; and what does
// not come of all of them comes of none.
func TestOperationsBreakNoPromise(t *testing.T) {
	taken := map[Kind]int{}
	rounds := 6000
	if testing.Short() {
		rounds = 300
	}
	for i := range rounds {
		h := &hostile{Rand: rand.New(rand.NewPCG(94, uint64(i)))}
		h.memory()
		p := h.m.showing(h.roles)
		p.Kind = one(h, Consolidate, Consolidate, Consolidate, Dream, Archive)
		p = p.Identify()
		var ops []Op
		for range one(h, 1, 1, 1, 2, 3) {
			ops = append(ops, h.op(p.Kind))
		}
		if h.IntN(8) == 0 { // many good ones together
			for _, u := range p.Units {
				ops = append(ops, archive(u.Slug))
			}
		}
		view := h.m.view(t)
		o := CheckOptions{Now: now, View: view}
		got, err := Check(p, ops, h.m.at, o)
		again, errAgain := Check(p, ops, h.m.at, o)
		if !reflect.DeepEqual(got, again) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("round %d: %+v, %v, and then %+v, %v", i, got, err, again, errAgain)
		}
		var wrong *OpError
		if err != nil && (!errors.As(err, &wrong) || got != nil || wrong.Index >= len(ops) || wrong.Reason == "") {
			t.Fatalf("round %d: %+v, %v", i, got, err)
		}
		if err == nil {
			taken[p.Kind]++
			if broken := h.broken(p, ops, got); broken != "" {
				t.Fatalf("round %d: %s\n%+v\n%+v\n%v", i, broken, ops, got, h.m)
			}
		}
	}
	for _, k := range []Kind{Consolidate, Dream, Archive} {
		if taken[k] < rounds/20 {
			t.Errorf("of %d rounds only %d of %s were taken: %v", rounds, taken[k], k, taken)
		}
	}
}

// broken says which promise changes break.
func (h *hostile) broken(p Plan, ops []Op, all []Change) string {
	after := h.m.with(all)
	archived, last := 0, 0
	seen := map[string]bool{}
	for _, c := range all {
		head, there := h.m[c.Slug]
		d, was := frontmatter.Parse(c.New), frontmatter.Parse(head)
		f, before := d.Fields(), was.Fields()
		u, shown := p.Find(c.Slug)
		story := c.Slug == NarrativeSlug && f.Type == frontmatter.Narrative && d.Body() != was.Body()
		took := 0
		if there && f.State != before.State && !story {
			if took = 1; f.State == frontmatter.Archived {
				took, archived = 2, archived+1
			}
		}
		takenAway := there && f.State == frontmatter.Archived && took == 2
		switch {
		case seen[c.Slug]:
			return c.Slug + " is written twice"
		case c.Slug == core || answer.Reserved(c.Slug):
			return c.Slug + " is not ours to write"
		case there != (c.Base != "") || there && (c.Base != Hash(head) || c.Old != head):
			return c.Slug + " is bound to another text"
		case there && !shown:
			return c.Slug + " was not shown"
		case c.New == head || c.Op < 0 || c.Op >= len(ops):
			return c.Slug + " is no change of an operation"
		case took < last && (f.Consolidated.IsZero() || !before.Consolidated.IsZero()):
			return c.Slug + " adds after something was taken away"
		case there && !story && (d.Body() != was.Body() || f.Trust != before.Trust || f.Source != before.Source || f.Created != before.Created || f.Type != before.Type || f.Pin != before.Pin):
			return c.Slug + " lost what it was"
		case story && (f.Trust > frontmatter.Derived || f.Trust > before.Trust || f.Trust == frontmatter.External || before.Trust == frontmatter.Told):
			return "the narrative is trusted too much, or was not ours"
		case (!there || story) && (f.Trust > frontmatter.Derived || f.Source != "mind:"+p.ID || f.State != frontmatter.Active || f.Pin):
			return c.Slug + " claims what it is not"
		case there && before.Trust == frontmatter.Told && unstamped(d) != unstamped(was):
			return c.Slug + " is told, and was touched"
		case takenAway && (u.Role != Episode && u.Role != Stale || before.Pin || before.Trust == frontmatter.Told || linkedFrom(h.m[core])[c.Slug] || f.Type == frontmatter.Prospective && before.State != frontmatter.Done || f.Type == frontmatter.Narrative):
			return c.Slug + " must not be archived"
		case !f.Consolidated.IsZero() && before.Consolidated.IsZero() && u.Role != Episode:
			return c.Slug + " is no episode of the plan"
		case u.Role == Episode && p.Kind != Dream && f.Consolidated.IsZero():
			return c.Slug + " was named, and still waits"
		case u.Role == Episode && f.State != frontmatter.Active && !holds(after, c.Slug):
			return c.Slug + " is neither active nor in what is"
		case took == 1 && f.Type == frontmatter.Prospective:
			return c.Slug + " is an intention that nobody settled"
		case f.State == frontmatter.Superseded && before.State != frontmatter.Superseded && h.usurped(after, c.Slug):
			return c.Slug + " is superseded by what may not"
		}
		for _, r := range f.Relations {
			if !there && (r.Relation == "derived_from" || r.Relation == "inspired_by") {
				if _, ok := p.Find(r.Target); !ok || frontmatter.Parse(h.m[r.Target]).Trust() < f.Trust {
					return c.Slug + " is from " + r.Target + ", which was not shown, or is trusted less"
				}
			}
		}
		seen[c.Slug], last = true, max(last, took)
	}
	if archived > MaxArchived && p.Kind != Archive {
		return "too much is archived"
	}
	return ""
}

// unstamped is a text without the mark of an episode that was thought over.
func unstamped(d frontmatter.Doc) string {
	text, _ := d.Edit(frontmatter.Remove("consolidated"))
	return text
}

func holds(m texts, episode string) bool {
	for slug, text := range m {
		f := frontmatter.Parse(text).Fields()
		if slug != episode && f.State == frontmatter.Active && slices.ContainsFunc(f.Relations, func(r frontmatter.Relation) bool { return r.Relation == "derived_from" && r.Target == episode }) {
			return true
		}
	}
	return false
}

// usurped reports whether nothing that holds and may took the place of a unit.
func (h *hostile) usurped(after texts, old string) bool {
	was := frontmatter.Parse(h.m[old]).Fields()
	if was.Trust == frontmatter.Told {
		return true
	}
	for _, text := range after {
		f := frontmatter.Parse(text).Fields()
		names := func(r frontmatter.Relation) bool { return r.Relation == relSupersedes && r.Target == old }
		if !slices.ContainsFunc(f.Relations, names) {
			continue
		}
		good := f.State == frontmatter.Active && (f.Trust >= was.Trust || was.Trust == frontmatter.Observed && f.Trust == frontmatter.Derived)
		if was.Trust == frontmatter.Observed && strings.HasPrefix(f.Source, "mind:") {
			later := false
			for _, r := range f.Relations {
				if s := frontmatter.Parse(h.m[r.Target]).Fields(); r.Relation == "derived_from" {
					good = good && s.Trust >= frontmatter.Observed
					later = later || s.Created.Time.After(was.Created.Time)
				}
			}
			good = good && later
		}
		return !good
	}
	return true
}
