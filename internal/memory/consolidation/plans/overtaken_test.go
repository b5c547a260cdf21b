package plans

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	memorystate "engramd/internal/memory/state"
)

// TestTakenBackMeanwhile: a commit of one machine during which another one takes its
// plan back, at any write, and that goes on or is killed, leaves nothing changed.
func TestTakenBackMeanwhile(t *testing.T) {
	before := memory()
	plan := shown(before)
	for _, force := range []bool{false, true} {
		for _, kill := range []int{0, 1, 2} { // that many writes later, 0 never
			undone := 0
			for n := 1; ; n++ {
				m := newMachine(t, "one", newRelay(before))
				other := newMachine(t, "two", m.relay)
				m.keep(plan)
				k, was := 0, false
				p, d := m.start()
				d.pass = func(what string) {
					if !strings.HasPrefix(what, "before set mem/") || strings.Contains(what, prefix) {
						return
					}
					if k++; k == n {
						q, _ := other.start()
						_, err := q.Undo(t.Context(), plan.ID, force)
						must(t, err)
						was = true
						undone++
					}
					if kill > 0 && k == n+kill {
						panic(killed)
					}
				}
				err := func() (err error) {
					defer func() {
						if e := recover(); e == killed {
							err = killed
						} else if e != nil {
							panic(e)
						}
					}()
					_, err = p.Commit(t.Context(), plan.ID, answer())
					return err
				}()
				if !was {
					must(t, err)
					break
				}
				if !errors.Is(err, ErrStatus) && !errors.Is(err, killed) {
					t.Errorf("write %d: %v", n, err)
				}
				p, _ = m.start()
				_, err = p.ResumeOpen(t.Context())
				must(t, err)
				if now := m.relay.texts(); !same(now, before) {
					t.Errorf("write %d, killed %d later: %v differ", n, kill, differ(now, before))
				}
				m.settled()
			}
			if undone != 6 {
				t.Errorf("taken back at %d writes", undone)
			}
		}
	}
}

// TestUndoThatIsRefused by a relay leaves what was being carried out to be finished.
func TestUndoThatIsRefused(t *testing.T) {
	before := memory()
	plan := shown(before)
	commit := func(p *Plans) error { _, err := p.Commit(t.Context(), plan.ID, answer()); return err }
	for _, answered := range []bool{true, false} {
		m := newMachine(t, "one", newRelay(before))
		m.keep(plan)
		if _, was := m.until(14, commit); !was {
			t.Fatal("not killed")
		}
		p, d := m.start()
		refused := false
		d.deny = func(what string) error {
			if what == "set "+prefix+plan.ID || refused && !answered {
				refused = true
				return fmt.Errorf("wss://one: %w", client.ErrNoRelay)
			}
			return nil
		}
		if _, err := p.Undo(t.Context(), plan.ID, false); !errors.Is(err, client.ErrNoRelay) {
			t.Fatal(err)
		}
		p, _ = m.start()
		if out, err := p.ResumeOpen(t.Context()); err != nil || len(out) != 1 || out[0].Status != Done {
			t.Errorf("%+v, %v", out, err)
		}
		m.settled()
	}
}

// TestMadeTwiceAfterAKill: a call is made again when its process was killed, at any
// point after all was done.
func TestMadeTwiceAfterAKill(t *testing.T) {
	plan := shown(memory())
	for name, do := range map[string]func(p *Plans) (Result, error){
		"commit":  func(p *Plans) (Result, error) { return p.Commit(t.Context(), plan.ID, answer()) },
		"propose": func(p *Plans) (Result, error) { return p.Propose(t.Context(), plan.ID, answer()) },
	} {
		for n := 1; ; n++ {
			m := newMachine(t, "one", newRelay(memory()))
			m.keep(plan)
			_, was := m.until(n, func(p *Plans) error { _, err := do(p); return err })
			if !was {
				break
			}
			p, _ := m.start()
			if out, err := do(p); err != nil || out.Status != Done && out.Status != Proposed {
				t.Errorf("%s, pass %d: %+v, %v", name, n, out, err)
			}
			held := 0
			for _, r := range m.settled() {
				if r.Status != Dropped {
					held++
				}
			}
			if held != 1 {
				t.Errorf("%s, pass %d: %d records", name, n, held)
			}
		}
	}
}

// TestRepeatedCallCannotBeLookedUp: that a call was not made before is not said while
// nobody knows.
func TestRepeatedCallCannotBeLookedUp(t *testing.T) {
	m := newMachine(t, "one", newRelay(memory()))
	plan := shown(memory())
	m.keep(plan)
	p, d := m.start()
	_, err := p.Commit(t.Context(), plan.ID, answer())
	must(t, err)
	for _, slug := range []string{prefix + plan.ID, prefix + plan.ID + "/1"} {
		d.deny = func(what string) error {
			if what == "get "+slug {
				return fmt.Errorf("wss://two: %w", client.ErrPartial)
			}
			return nil
		}
		if _, err := p.Commit(t.Context(), plan.ID, answer()); !errors.Is(err, client.ErrPartial) || errors.Is(err, ErrNoPlan) {
			t.Errorf("%s: %v", slug, err)
		}
	}
}

// TestUndoOfWhatWasDropped says so.
func TestUndoOfWhatWasDropped(t *testing.T) {
	m := newMachine(t, "one", newRelay(memory()))
	plan := shown(memory())
	m.keep(plan)
	m.until(5, func(p *Plans) error { _, err := p.Commit(t.Context(), plan.ID, answer()); return err })
	p, _ := m.start()
	_, err := p.ResumeOpen(t.Context())
	must(t, err)
	if _, err := p.Undo(t.Context(), plan.ID, false); !errors.Is(err, ErrStatus) || !strings.Contains(err.Error(), string(Dropped)) {
		t.Errorf("%v", err)
	}
}

// TestManyPlansWereShown: as many as the state keeps do not stop one from being
// committed, and what is committed does not give its own place away.
func TestManyPlansWereShown(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	s, err := memorystate.Open(t.Context(), memorystate.Pair{Agent: strings.Repeat("a", 64), Owner: strings.Repeat("b", 64), Conversation: [32]byte{7}},
		memorystate.Options{Dir: t.TempDir(), Now: func() time.Time { return m.now }, Machine: func() (string, error) { return "one", nil }})
	must(t, err)
	defer s.Close()
	m.open, m.tallies = s.Plans, s.Tallies
	plan := shown(before)
	m.keep(plan)
	p, _ := m.start()
	for i := range memorystate.MaxPlans - 1 {
		more := plan
		more.Kind, more.Seed = consolidation.Dream, uint64(i+1)
		must(t, p.Keep(t.Context(), more.Identify()))
	}
	if out, err := p.Commit(t.Context(), plan.ID, answer()); err != nil || out.Status != Done {
		t.Errorf("%+v, %v", out, err)
	}
	m.settled()
}
