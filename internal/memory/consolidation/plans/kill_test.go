package plans

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"engramd/internal/memory/consolidation"
)

// scene is something that is killed at every point.
type scene struct {
	ready func(m *machine) // what was before
	do    func(p *Plans) error
	// kept is what the record says if nothing was done.
	kept Status
	// again does it after a resume that ended where it began, to the end.
	again func(m *machine)
}

func scenes(t *testing.T) map[string]scene {
	plan := shown(memory())
	commit := func(p *Plans) error { _, err := p.Commit(t.Context(), plan.ID, answer()); return err }
	run := func(m *machine, do func(*Plans) error) {
		t.Helper()
		p, _ := m.start()
		must(t, do(p))
	}
	undo := func(p *Plans) error { _, err := p.Undo(t.Context(), plan.ID, false); return err }
	accept := func(p *Plans) error { _, err := p.Accept(t.Context(), plan.ID, nil); return err }
	propose := func(p *Plans) error { _, err := p.Propose(t.Context(), plan.ID, answer()); return err }
	return map[string]scene{
		"commit": {ready: func(m *machine) { m.keep(plan) }, do: commit, kept: Dropped, again: func(m *machine) { run(m, commit) }},
		"undo": {ready: func(m *machine) { m.keep(plan); run(m, commit) }, do: undo, kept: Done,
			again: func(m *machine) { run(m, undo) }},
		"accept": {ready: func(m *machine) { m.keep(plan); run(m, propose) }, do: accept, kept: Proposed,
			again: func(m *machine) { run(m, accept) }},
	}
}

// killedAt runs a scene that is killed where it passes for the nth time.
func (s scene) killedAt(t *testing.T, n int) (m *machine, before map[string]string, was bool) {
	m = newMachine(t, "one", newRelay(memory()))
	s.ready(m)
	before = m.relay.texts()
	err, was := m.until(n, s.do)
	if err != nil && !was {
		t.Fatalf("pass %d: %v", n, err)
	}
	return m, before, was
}

// after is what a scene ends with when nobody kills it.
func (s scene) after(t *testing.T) map[string]string {
	m, _, was := s.killedAt(t, -1)
	if was {
		t.Fatal("killed")
	}
	return m.relay.texts()
}

// TestKilledAtEveryWrite: a commit, an undo and an accept that are killed before or
// after any write, of the memory or of the state, end old or new at the next start,
// and can be done again where they ended old.
func TestKilledAtEveryWrite(t *testing.T) {
	for name, s := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			last := unstamped(s.after(t))
			olds, news, n := 0, 0, 1
			for ; ; n++ {
				m, before, was := s.killedAt(t, n)
				if !was {
					break
				}
				lost(t, nil, m.relay.texts(), fmt.Sprintf("killed at pass %d", n))
				p, _ := m.start()
				_, err := p.ResumeOpen(t.Context())
				must(t, err)
				now := m.relay.texts()
				records := m.settled()
				switch {
				case same(now, before):
					olds++
					if len(records) > 0 && records[0].Status != s.kept {
						t.Errorf("pass %d: old, and its record is %s", n, records[0].Status)
					}
					s.again(m)
					if now = m.relay.texts(); !same(unstamped(now), last) {
						t.Errorf("pass %d: done again, %v differ", n, differ(unstamped(now), last))
					}
				case same(unstamped(now), last):
					news++
				default:
					t.Errorf("pass %d: neither old nor new: %v differ from old, %v from new", n, differ(now, before), differ(unstamped(now), last))
				}
				takeBack(t, m)
			}
			if olds < 3 || news < 12 {
				t.Errorf("%d old, %d new", olds, news)
			}
			t.Logf("%d points: %d old, %d new", n-1, olds, news)
		})
	}
}

// takeBack takes back whatever is done, and compares every byte.
func takeBack(t *testing.T, m *machine) {
	t.Helper()
	p, _ := m.start()
	for _, r := range m.settled() {
		if r.Status == Done {
			if _, err := p.Undo(t.Context(), r.ID, false); err != nil {
				t.Errorf("take %s back: %v", r.ID, err)
			}
		}
	}
	if now := m.relay.texts(); !same(now, memory()) {
		t.Errorf("taken back, %v differ", differ(now, memory()))
	}
	m.settled()
}

// unstamped leaves out when it was: a commit that is made again is made later.
func unstamped(texts map[string]string) map[string]string {
	out := maps.Clone(texts)
	for slug, text := range out {
		out[slug] = stamps().ReplaceAllString(text, "$1: TIME")
	}
	return out
}

// every says at which points a process is killed: at each, or in the short form at
// every fifth.
func every() int {
	if testing.Short() {
		return 5
	}
	return 1
}

// TestKilledAndKilledAgain: who resumes may be killed too, at every point.
func TestKilledAndKilledAgain(t *testing.T) {
	for name, s := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			last := unstamped(s.after(t))
			for n := 1; ; n += every() {
				_, _, was := s.killedAt(t, n)
				if !was {
					break
				}
				for k := 1 + n%3; ; k += 3 {
					m, before, _ := s.killedAt(t, n)
					_, was := m.until(k, func(p *Plans) error { _, err := p.ResumeOpen(t.Context()); return err })
					p, _ := m.start()
					_, err := p.ResumeOpen(t.Context())
					must(t, err)
					m.settled()
					if now := m.relay.texts(); !same(now, before) && !same(unstamped(now), last) {
						t.Errorf("pass %d and %d: %v differ from old, %v from new", n, k, differ(now, before), differ(unstamped(now), last))
					}
					if !was {
						break
					}
				}
			}
		})
	}
}

// TestChangedWhileDead: what another machine changed after the kill is left as it is,
// and named; everything else is old or new.
func TestChangedWhileDead(t *testing.T) {
	for name, s := range scenes(t) {
		for _, slug := range []string{"mem/facts/old", "mem/journal/e1", "mem/journal/e3", "mem/facts/new"} {
			t.Run(name+" "+slug, func(t *testing.T) {
				last := unstamped(s.after(t))
				for n := 1; ; n += every() {
					m, before, was := s.killedAt(t, n)
					if !was {
						break
					}
					theirs := "Written elsewhere meanwhile."
					m.relay.set(slug, theirs)
					p, _ := m.start()
					were, err := p.List(t.Context())
					must(t, err)
					found := m.relay.texts()
					out, err := p.ResumeOpen(t.Context())
					must(t, err)
					now := m.relay.texts()
					if now[slug] != theirs {
						t.Fatalf("pass %d: %q", n, now[slug])
					}
					isOld, isNew := true, true
					left := map[string]bool{slug: true}
					for _, r := range out {
						if r.Status == TakenBack && len(r.Changes) > 0 {
							t.Errorf("pass %d: taken back, and said to be changed: %+v", n, r.Changes)
						}
						for _, l := range r.Left {
							left[l.Slug] = true
						}
						closed := slices.ContainsFunc(were, func(w Record) bool { return w.ID == r.ID && w.Status.closed() })
						if (r.Status == Done || r.Status == TakenBack) && !closed && !isLeft(r.Left, slug) {
							t.Errorf("pass %d: %s is not named in %+v", n, slug, r.Left)
						}
					}
					for _, d := range differ(now, before) {
						isOld = isOld && left[d]
					}
					for _, d := range differ(unstamped(now), last) {
						isNew = isNew && left[d]
					}
					if !isOld && !isNew {
						t.Errorf("pass %d: neither old nor new but for %v: %v, %v", n, left, differ(now, before), differ(unstamped(now), last))
					}
					lost(t, found, now, fmt.Sprint("pass ", n))
					m.settled()
				}
			})
		}
	}
}

// TestUndoRefusesWhatWasChanged, says what, and brings the rest back by force.
func TestUndoRefusesWhatWasChanged(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	plan := shown(before)
	m.keep(plan)
	p, _ := m.start()
	_, err := p.Commit(t.Context(), plan.ID, answer())
	must(t, err)
	m.relay.set("mem/journal/e1", "Edited since.")
	n := m.relay.n
	_, err = p.Undo(t.Context(), plan.ID, false)
	var changed *ChangedError
	if !errors.As(err, &changed) || !errors.Is(err, consolidation.ErrChanged) || len(changed.Changed) != 1 || changed.Changed[0].Slug != "mem/journal/e1" || changed.Rest != 5 || m.relay.n != n {
		t.Fatalf("%v", err)
	}
	out, err := p.Undo(t.Context(), plan.ID, true)
	must(t, err)
	if got := differ(before, m.relay.texts()); len(got) != 1 || got[0] != "mem/journal/e1" || len(out.Left) != 1 || len(out.Back) != 5 {
		t.Errorf("%v differ, %+v", got, out)
	}
	m.settled()
}

// TestUndoLosesNoFact: what stands in for a unit that is not active stays if that was
// changed since and is not ours to bring back.
func TestUndoLosesNoFact(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	plan := shown(before)
	m.keep(plan)
	p, _ := m.start()
	_, err := p.Commit(t.Context(), plan.ID, answer())
	must(t, err)
	m.relay.set("mem/facts/old", m.relay.texts()["mem/facts/old"]+"With a word more.\n")
	out, err := p.Undo(t.Context(), plan.ID, true)
	must(t, err)
	now := m.relay.texts()
	if _, ok := now["mem/facts/new"]; !ok || len(out.Left) != 2 {
		t.Errorf("%+v", out)
	}
	lost(t, nil, now, "forced")
}
