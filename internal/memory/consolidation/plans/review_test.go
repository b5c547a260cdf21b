package plans

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	"engramd/internal/memory/consolidation"
	"engramd/nips/nipae"
)

// partial is a door of which one of two relays takes nothing.
type partial struct{ *door }

func (p partial) Set(ctx context.Context, slug nipae.Slug, text string, o clientmemory.SetOptions) (client.Entry, client.Status, error) {
	e, s, err := p.door.Set(ctx, slug, text, o)
	s.Published = []client.PublishStatus{{URL: "wss://one", Accepted: true}, {URL: "wss://two"}}
	return e, s, err
}

// propose leaves the answer to be looked at.
func (m *machine) propose() (p *Plans, id string) {
	m.t.Helper()
	plan := shown(m.relay.texts())
	m.keep(plan)
	p, _ = m.start()
	out, err := p.Propose(m.t.Context(), plan.ID, answer())
	must(m.t, err)
	if out.Status != Proposed {
		m.t.Errorf("%+v", out)
	}
	return p, out.ID
}

func TestReview(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	_, id := m.propose()
	if !same(before, m.relay.texts()) {
		t.Errorf("a proposal changed %v", differ(before, m.relay.texts()))
	}
	other, _ := newMachine(t, "two", m.relay).start()
	v, err := other.Review(t.Context(), id)
	must(t, err)
	if v.Err != nil || v.Status != Proposed || len(v.Steps) != 4 || v.Steps[1].Op.Op != consolidation.OpSupersede || len(v.Steps[1].Changes) == 0 {
		t.Fatalf("%+v", v)
	}
	if ch := v.Steps[1].Changes[0]; ch.Old != before["mem/facts/old"] || !strings.Contains(ch.New, "state: superseded") {
		t.Errorf("%+v", ch)
	}
	out, err := other.Accept(t.Context(), id, nil)
	if err != nil || out.Status != Done || len(out.Changes) != 6 {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := other.Accept(t.Context(), id, nil); !errors.Is(err, ErrStatus) {
		t.Errorf("accepted twice: %v", err)
	}
	if _, err := other.Undo(t.Context(), id, false); err != nil || !same(before, m.relay.texts()) {
		t.Errorf("%v", err)
	}
	m.settled()
}

// TestAcceptSome: only those, judged as a whole again: what relied on one that is left
// out is refused, and the proposal stays.
func TestAcceptSome(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	p, id := m.propose()
	var wrong *consolidation.OpError
	if _, err := p.Accept(t.Context(), id, []int{1}); !errors.As(err, &wrong) {
		t.Errorf("superseding without what supersedes: %v", err)
	}
	if _, err := p.Accept(t.Context(), id, []int{9}); err == nil {
		t.Error("an operation that is not there")
	}
	out, err := p.Accept(t.Context(), id, []int{3})
	if err != nil || len(out.Changes) != 1 || strings.Join(differ(before, m.relay.texts()), " ") != "mem/journal/e4" {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := p.Undo(t.Context(), id, false); err != nil || !same(before, m.relay.texts()) {
		t.Errorf("%v", err)
	}
}

func TestReject(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	p, id := m.propose()
	must(t, p.Reject(t.Context(), id))
	for _, err := range []error{p.Reject(t.Context(), id), func() error { _, err := p.Accept(t.Context(), id, nil); return err }(), func() error { _, err := p.Undo(t.Context(), id, true); return err }()} {
		if !errors.Is(err, ErrStatus) {
			t.Errorf("%v", err)
		}
	}
	if !same(before, m.relay.texts()) {
		t.Error("something was changed")
	}
}

// TestAcceptLooksAgain: what was changed since the proposal is said, and nothing is
// written.
func TestAcceptLooksAgain(t *testing.T) {
	m := newMachine(t, "one", newRelay(memory()))
	p, id := m.propose()
	m.relay.set("mem/journal/e2", "Another day.")
	n := m.relay.n
	if v, err := p.Review(t.Context(), id); err != nil || !errors.Is(v.Err, consolidation.ErrChanged) {
		t.Errorf("%v, %v", v.Err, err)
	}
	if _, err := p.Accept(t.Context(), id, nil); !errors.Is(err, consolidation.ErrChanged) || m.relay.n != n {
		t.Errorf("%d writes, %v", m.relay.n-n, err)
	}
	if _, err := p.Accept(t.Context(), id, []int{3}); err != nil {
		t.Errorf("what it is not about: %v", err)
	}
}

// TestOldRecordsGo: 90 days after they were closed, whatever kills whoever removes
// them; proposals and newer ones stay.
func TestOldRecordsGo(t *testing.T) {
	for n := 1; ; n++ {
		before := memory()
		m := newMachine(t, "one", newRelay(before))
		_, proposed := m.propose()
		plan := shown(before)
		m.keep(plan)
		p, _ := m.start()
		out, err := p.Commit(t.Context(), plan.ID, answer())
		must(t, err)
		after := m.relay.texts()
		m.now = m.now.Add(Kept - 4*time.Hour)
		p, _ = m.start()
		_, err = p.ResumeOpen(t.Context())
		must(t, err)
		if all := m.settled(); len(all) != 2 {
			t.Fatalf("too early: %+v", all)
		}
		m.now = m.now.Add(4 * time.Hour)
		_, was := m.until(n, func(p *Plans) error { _, err := p.ResumeOpen(t.Context()); return err })
		p, _ = m.start()
		_, err = p.ResumeOpen(t.Context())
		must(t, err)
		all := m.settled()
		if len(all) != 1 || all[0].ID != proposed || !same(after, m.relay.texts()) {
			t.Errorf("pass %d: %+v", n, all)
		}
		for slug, h := range m.relay.heads {
			if h.ok && strings.HasPrefix(slug, prefix+out.ID) {
				t.Errorf("pass %d: %s is there", n, slug)
			}
		}
		if !was {
			break
		}
	}
}

// TestProposeKilledAtEveryWrite: the proposal is there, or it can be made again.
func TestProposeKilledAtEveryWrite(t *testing.T) {
	plan := shown(memory())
	propose := func(p *Plans) error { _, err := p.Propose(t.Context(), plan.ID, answer()); return err }
	for n := 1; ; n++ {
		m := newMachine(t, "one", newRelay(memory()))
		m.keep(plan)
		_, was := m.until(n, propose)
		p, _ := m.start()
		_, err := p.ResumeOpen(t.Context())
		must(t, err)
		out, err := p.Propose(t.Context(), plan.ID, answer())
		if err != nil || out.Status != Proposed {
			t.Errorf("pass %d: %+v, %v", n, out, err)
		}
		if _, err := p.Accept(t.Context(), out.ID, nil); err != nil || len(differ(memory(), m.relay.texts())) != 6 {
			t.Errorf("pass %d: %v", n, err)
		}
		m.settled()
		if !was {
			break
		}
	}
}
