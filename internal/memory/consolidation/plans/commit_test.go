package plans

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/frontmatter"
)

// TestCommitAndUndo: what a commit changes, what its record says, and that taking it
// back gives every byte back although no relay has any history.
func TestCommitAndUndo(t *testing.T) {
	before := memory()
	r := newRelay(before)
	m := newMachine(t, "one", r)
	p, _ := m.start()
	plan := shown(before)
	must(t, p.Keep(t.Context(), plan))
	out, err := p.Commit(t.Context(), plan.ID, answer())
	must(t, err)
	if out.ID != plan.ID || out.Status != Done || len(out.Changes) != 6 || len(out.Left) != 0 {
		t.Fatalf("%+v", out)
	}
	after := r.texts()
	if got := strings.Join(differ(before, after), " "); got != "mem/facts/new mem/facts/old mem/journal/e1 mem/journal/e2 mem/journal/e3 mem/journal/e4" {
		t.Errorf("changed: %s", got)
	}
	for slug, state := range map[string]frontmatter.State{"mem/facts/new": frontmatter.Active, "mem/facts/old": frontmatter.Superseded, "mem/journal/e3": frontmatter.Archived, "mem/journal/e1": frontmatter.Active} {
		if f := frontmatter.Parse(after[slug]).Fields(); f.State != state {
			t.Errorf("%s is %s", slug, f.State)
		}
	}
	if f := frontmatter.Parse(after["mem/facts/new"]).Fields(); f.Source != "mind:"+plan.ID || f.Trust != frontmatter.Derived {
		t.Errorf("from %q, %s", f.Source, f.Trust)
	}
	again, err := p.Commit(t.Context(), plan.ID, answer())
	if err != nil || !again.Again || again.ID != out.ID || !same(after, r.texts()) {
		t.Errorf("made twice: %+v, %v", again, err)
	}
	if _, err := p.Commit(t.Context(), plan.ID, answer()[:1]); !errors.Is(err, ErrNoPlan) {
		t.Errorf("another answer: %v", err)
	}
	m.now = m.now.Add(60 * 24 * time.Hour) // weeks later, on another machine
	other, _ := newMachine(t, "two", r).start()
	undone, err := other.Undo(t.Context(), out.ID, false)
	must(t, err)
	if len(undone.Back) != 6 || len(undone.Left) != 0 || !same(before, r.texts()) {
		t.Errorf("%+v: %v differ", undone, differ(before, r.texts()))
	}
	if _, err := other.Undo(t.Context(), out.ID, false); !errors.Is(err, ErrStatus) {
		t.Errorf("taken back twice: %v", err)
	}
	// The same showing is the same plan: it has a second record.
	must(t, p.Keep(t.Context(), plan))
	out, err = p.Commit(t.Context(), plan.ID, answer())
	if err != nil || out.ID != plan.ID+"-2" {
		t.Errorf("%s, %v", out.ID, err)
	}
	if again, err := p.Commit(t.Context(), plan.ID, answer()); err != nil || !again.Again || again.ID != out.ID {
		t.Errorf("the second one made twice: %+v, %v", again, err)
	}
	if next, text, err := p.Prepare(t.Context(), consolidation.Consolidate, PrepareOptions{}); err != nil || next.Waiting != 0 || strings.Contains(text, prefix) {
		t.Errorf("records are thought over: %d wait, %v\n%s", next.Waiting, err, text)
	}
	if all := m.settled(); len(all) != 2 || all[0].Status != Done || all[1].Status != TakenBack || all[0].Machine != "one" {
		t.Errorf("%+v", all)
	}
}

// TestNothingIsWritten of what is wrong, too late, or nothing.
func TestNothingIsWritten(t *testing.T) {
	before := memory()
	for name, c := range map[string]struct {
		ops  []consolidation.Op
		with func(*machine, *Plans, consolidation.Plan)
		want error
	}{
		"nothing to do":   {ops: nil},
		"one wrong":       {ops: append(answer(), consolidation.Op{Op: consolidation.OpArchive, Slug: "mem/facts/told", Why: "x"}), want: &consolidation.OpError{}},
		"changed":         {ops: answer(), with: func(m *machine, _ *Plans, _ consolidation.Plan) { m.relay.set("mem/journal/e2", "Another day.") }, want: consolidation.ErrChanged},
		"taken meanwhile": {ops: answer(), with: func(m *machine, _ *Plans, _ consolidation.Plan) { m.relay.set("mem/facts/new", "Here.") }, want: &consolidation.OpError{}},
		"closed": {ops: answer(), with: func(m *machine, p *Plans, plan consolidation.Plan) {
			must(m.t, p.Open.Close(m.t.Context(), plan.ID))
		}, want: ErrNoPlan},
		"relay missing": {ops: answer(), with: func(_ *machine, p *Plans, _ consolidation.Plan) {
			p.Memory.(*door).deny = func(what string) error {
				if what == "get mem/facts/new" {
					return fmt.Errorf("wss://two: %w", client.ErrPartial)
				}
				return nil
			}
		}, want: client.ErrPartial},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelay(before)
			m := newMachine(t, "one", r)
			p, _ := m.start()
			plan := shown(before)
			must(t, p.Keep(t.Context(), plan))
			if c.with != nil {
				c.with(m, p, plan)
			}
			n := r.n
			_, err := p.Commit(t.Context(), plan.ID, c.ops)
			var wrong *consolidation.OpError
			if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) && !(errors.As(c.want, &wrong) && errors.As(err, &wrong)) {
				t.Errorf("%v", err)
			}
			if r.n != n {
				t.Errorf("%d writes", r.n-n)
			}
		})
	}
}

// TestLineMovesOn: what was shown and not named is counted, what was named is not.
func TestLineMovesOn(t *testing.T) {
	before := memory()
	r := newRelay(before)
	m := newMachine(t, "one", r)
	p, _ := m.start()
	plan := shown(before)
	for range 2 {
		must(t, p.Keep(t.Context(), plan))
		_, err := p.Commit(t.Context(), plan.ID, nil)
		must(t, err)
	}
	must(t, p.Keep(t.Context(), plan))
	_, err := p.Commit(t.Context(), plan.ID, []consolidation.Op{{Op: consolidation.OpKeep, Slug: "journal/e1"}})
	must(t, err)
	all, err := p.Tallies.Of(t.Context(), memorystate.Offered)
	must(t, err)
	if _, ok := all["mem/journal/e1"]; ok || all["mem/journal/e2"].N != 3 || len(all) != 3 {
		t.Errorf("%v", all)
	}
}

// TestTurnsOfPlans: a thinker that fails on somebody else's words each time holds up nothing
// but those, and an answer ends the turn; who prepares once more at once gets the same.
func TestTurnsOfPlans(t *testing.T) {
	for name, c := range map[string]struct {
		of    func(p *Plans, id string) error
		later time.Duration
	}{
		"never answered": {func(*Plans, string) error { return nil }, time.Hour},
		"answered":       {func(p *Plans, id string) error { _, err := p.Commit(t.Context(), id, nil); return err }, 0},
		"proposed":       {func(p *Plans, id string) error { _, err := p.Propose(t.Context(), id, nil); return err }, 0},
	} {
		m := newMachine(t, "one", newRelay(map[string]string{
			"mem/j/page": a("type: episodic\nwhen: 1970-01-01\ntrust: external\n", "The page of Eve."),
			"mem/j/own":  a("type: episodic\n", "A boat came."),
		}))
		s, err := memorystate.Open(t.Context(), memorystate.Pair{Agent: strings.Repeat("a", 64), Owner: strings.Repeat("b", 64), Conversation: [32]byte{7}},
			memorystate.Options{Dir: t.TempDir(), Now: func() time.Time { return m.now }, Machine: func() (string, error) { return "one", nil }})
		must(t, err)
		m.open, m.tallies = s.Plans, s.Tallies
		p, _ := m.start()
		var sides []consolidation.Whose
		for range 4 {
			plan, _, err := p.Prepare(t.Context(), consolidation.Consolidate, PrepareOptions{})
			must(t, err)
			sides = append(sides, plan.Whose())
			for range 5 {
				if again, _, err := p.Prepare(t.Context(), consolidation.Consolidate, PrepareOptions{}); err != nil || again.ID != plan.ID {
					t.Errorf("%s: once more %v, %v", name, again.Whose(), err)
				}
			}
			must(t, c.of(p, plan.ID))
			m.now = m.now.Add(c.later)
		}
		if want := []consolidation.Whose{consolidation.Others, consolidation.Own, consolidation.Others, consolidation.Own}; !slices.Equal(sides, want) {
			t.Errorf("%s: %v", name, sides)
		}
		must(t, s.Close())
	}
}

// TestPrepare by the state of the agent: expiry, dreams, and room for what was shown
// last.
func TestPrepare(t *testing.T) {
	texts := memory()
	for i := range 12 {
		texts[fmt.Sprintf("mem/f%d/unit", i)] = a("type: semantic\n", fmt.Sprintf("Fact %d about topic %d.", i, i))
	}
	r := newRelay(texts)
	m := newMachine(t, "one", r)
	s, err := memorystate.Open(t.Context(), memorystate.Pair{Agent: strings.Repeat("a", 64), Owner: strings.Repeat("b", 64), Conversation: [32]byte{7}},
		memorystate.Options{Dir: t.TempDir(), Now: func() time.Time { return m.now }, Machine: func() (string, error) { return "one", nil }})
	must(t, err)
	defer s.Close()
	m.open, m.tallies = s.Plans, s.Tallies
	p, _ := m.start()
	n := r.n
	plan, text, err := p.Prepare(t.Context(), consolidation.Consolidate, PrepareOptions{})
	must(t, err)
	if len(plan.Units) == 0 || !strings.Contains(text, "PostgreSQL 17") || r.n != n {
		t.Fatalf("%+v\n%s", plan, text)
	}
	drawn := map[string]bool{}
	for i := range 70 {
		m.now = m.now.Add(time.Second)
		dream, _, err := p.Prepare(t.Context(), consolidation.Dream, PrepareOptions{})
		must(t, err)
		if drawn[dream.ID] && i < 3 {
			t.Errorf("dream %d was there before", i)
		}
		drawn[dream.ID] = true
	}
	if all, err := s.Tallies.Of(t.Context(), memorystate.Dreamt); err != nil || len(all) < 12 {
		t.Errorf("drawn: %v, %v", all, err)
	}
	if _, err := p.Commit(t.Context(), plan.ID, nil); !errors.Is(err, ErrNoPlan) {
		t.Errorf("the oldest of too many: %v", err)
	}
	plan, _, err = p.Prepare(t.Context(), consolidation.Consolidate, PrepareOptions{})
	must(t, err)
	m.now = m.now.Add(Lasts)
	if _, err := p.Commit(t.Context(), plan.ID, nil); !errors.Is(err, ErrNoPlan) {
		t.Errorf("expired: %v", err)
	}
	if _, _, err := p.Prepare(t.Context(), consolidation.Archive, PrepareOptions{}); err == nil {
		t.Error("plans of archiving are not made here")
	}
}

// TestRecordIsBounded: bodies of at most 48 KiB as they are encrypted, of anything
// that a text may hold; and more than 512 KiB is refused before anything is written.
func TestRecordIsBounded(t *testing.T) {
	before := memory()
	for i, filler := range []string{"\"", "\\", "\n", "<", "é", "𝄞", "a"} {
		slug := fmt.Sprintf("mem/journal/big%d", i)
		before[slug] = a("type: episodic\n", strings.Repeat(filler, 5000))
	}
	commit := func(texts map[string]string) (*relay, *machine, Result, error) {
		roles, ops := map[string]consolidation.Role{}, []consolidation.Op{}
		for slug := range texts {
			if strings.HasPrefix(slug, "mem/journal/big") {
				roles[slug] = consolidation.Episode
				ops = append(ops, consolidation.Op{Op: consolidation.OpKeep, Slug: slug})
			}
		}
		slices.SortFunc(ops, func(a, b consolidation.Op) int { return strings.Compare(a.Slug, b.Slug) })
		r := newRelay(texts)
		m := newMachine(t, "one", r)
		plan := planOf(consolidation.Consolidate, texts, roles)
		m.keep(plan)
		p, _ := m.start()
		out, err := p.Commit(t.Context(), plan.ID, ops)
		return r, m, out, err
	}
	r, m, out, err := commit(before)
	must(t, err)
	parts := 0
	for slug, h := range r.heads {
		if strings.HasPrefix(slug, prefix) {
			parts++
			if cost(h.text) > maxBody {
				t.Errorf("%s has %d bytes", slug, cost(h.text))
			}
		}
	}
	if parts < 4 {
		t.Errorf("%d bodies", parts)
	}
	p, _ := m.start()
	if _, err := p.Undo(t.Context(), out.ID, false); err != nil || !same(before, r.texts()) {
		t.Errorf("%v: %v differ", err, differ(before, r.texts()))
	}
	large := maps.Clone(before)
	for i := range 10 {
		large[fmt.Sprintf("mem/journal/bigger%d", i)] = a("type: episodic\n", strings.Repeat("b", 40_000))
	}
	r, _, _, err = commit(large)
	if !errors.Is(err, ErrTooLarge) || r.n != len(large) {
		t.Errorf("%d writes, %v", r.n-len(large), err)
	}
}
