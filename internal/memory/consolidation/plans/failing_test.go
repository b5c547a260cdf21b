package plans

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	"engramd/internal/platform/files"
	"engramd/nips/nipae"
)

// TestAnswersThatWereLost: what a relay took and did not answer is done.
func TestAnswersThatWereLost(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	plan := shown(before)
	m.keep(plan)
	p, d := m.start()
	d.fail = func(string) error { return client.ErrTimeout }
	out, err := p.Commit(t.Context(), plan.ID, answer())
	if err != nil || out.Status != Done || len(out.Left) != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := p.Undo(t.Context(), out.ID, false); err != nil || !same(before, m.relay.texts()) {
		t.Errorf("%v, %v differ", err, differ(before, m.relay.texts()))
	}
	m.settled()
}

// TestRelayGoesAway at any call of a commit, an undo and an accept, for good: the error
// says whether something is left to be finished, and that is finished at the next start
// when the relay is back.
func TestRelayGoesAway(t *testing.T) {
	for name, s := range scenes(t) {
		t.Run(name, func(t *testing.T) {
			last := unstamped(s.after(t))
			for n := 1; ; n++ {
				m := newMachine(t, "one", newRelay(memory()))
				s.ready(m)
				before := m.relay.texts()
				p, d := m.start()
				k, gone := n, false
				d.deny = func(string) error {
					if k--; k <= 0 {
						gone = true
						return fmt.Errorf("wss://one: %w", client.ErrNoRelay)
					}
					return nil
				}
				err := s.do(p)
				var open *OpenError
				if !gone {
					must(t, err)
					break
				}
				if err == nil || !errors.Is(err, client.ErrNoRelay) {
					t.Fatalf("call %d: %v", n, err)
				}
				if !errors.As(err, &open) && !same(before, m.relay.texts()) {
					t.Errorf("call %d: it says that nothing is open: %v", n, err)
				}
				again, _ := m.start()
				out, err := again.ResumeOpen(t.Context())
				must(t, err)
				if open != nil && len(out) == 0 && !same(before, m.relay.texts()) {
					t.Errorf("call %d: nothing was resumed", n)
				}
				m.settled()
				if now := m.relay.texts(); !same(now, before) && !same(unstamped(now), last) {
					t.Errorf("call %d: %v differ from old, %v from new", n, differ(now, before), differ(unstamped(now), last))
				}
			}
		})
	}
}

// TestSomeRelayIsBehind: one that takes nothing while another one does is named.
func TestSomeRelayIsBehind(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	plan := shown(before)
	m.keep(plan)
	p, d := m.start()
	p.Memory = partial{d}
	out, err := p.Commit(t.Context(), plan.ID, answer())
	if err != nil || !reflect.DeepEqual(out.Behind, []string{"wss://two"}) {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestOneAtATime: who cannot have the lock is told so, and who starts does not wait.
func TestOneAtATime(t *testing.T) {
	m := newMachine(t, "one", newRelay(memory()))
	m.keep(shown(memory()))
	f, err := os.OpenFile(m.lock, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	defer f.Close()
	must(t, files.TryLock(f))
	p, _ := m.start()
	p.Wait = 1
	if _, err := p.Commit(t.Context(), shown(memory()).ID, answer()); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	if out, err := p.ResumeOpen(t.Context()); err != nil || out != nil {
		t.Errorf("%v, %v", out, err)
	}
	f.Close()
	if _, err := p.Commit(t.Context(), shown(memory()).ID, answer()); err != nil {
		t.Error(err)
	}
}

// TestResumeElsewhere: a record that another machine left open is finished by name,
// and the machine that left it finds nothing to do.
func TestResumeElsewhere(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	plan := shown(before)
	m.keep(plan)
	_, was := m.until(14, func(p *Plans) error { _, err := p.Commit(t.Context(), plan.ID, answer()); return err })
	other := newMachine(t, "two", m.relay)
	p, _ := other.start()
	if out, err := p.ResumeOpen(t.Context()); len(out) > 0 || err != nil || !was {
		t.Fatalf("%v, %v", out, err)
	}
	out, err := p.Resume(t.Context(), plan.ID)
	if err != nil || out.Status != Done || len(out.Left) > 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	n := m.relay.n
	p, _ = m.start()
	if _, err := p.ResumeOpen(t.Context()); err != nil || m.relay.n != n {
		t.Errorf("%d writes, %v", m.relay.n-n, err)
	}
	m.settled()
}

// TestClaimOfAnother: what was killed before it had claimed its record does not go on
// with the one that another machine claimed there.
func TestClaimOfAnother(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	other := newMachine(t, "two", m.relay)
	plan := shown(before)
	commit := func(p *Plans) error { _, err := p.Commit(t.Context(), plan.ID, answer()); return err }
	m.keep(plan)
	other.keep(plan)
	_, one := m.until(2, commit)
	_, two := other.until(14, commit)
	n := m.relay.n
	p, _ := m.start()
	if out, err := p.ResumeOpen(t.Context()); len(out) > 0 || err != nil || m.relay.n != n || !one || !two {
		t.Errorf("%v, %v, %d writes", out, err, m.relay.n-n)
	}
	p, _ = other.start()
	_, err := p.ResumeOpen(t.Context())
	must(t, err)
	m.settled()
	other.settled()
}

// TestSleptWhileFinishedElsewhere: a process that slept in the middle of a commit does
// nothing when it wakes up and the plan was finished and taken back elsewhere.
func TestSleptWhileFinishedElsewhere(t *testing.T) {
	before := memory()
	m, other := newMachine(t, "one", newRelay(before)), newMachine(t, "two", nil)
	other.relay = m.relay
	plan := shown(before)
	m.keep(plan)
	p, d := m.start()
	slept := false
	d.pass = func(what string) {
		if what != "after set mem/facts/new" || slept {
			return
		}
		slept = true
		q, _ := other.start()
		_, err := q.Resume(t.Context(), plan.ID)
		must(t, err)
		_, err = q.Undo(t.Context(), plan.ID, false)
		must(t, err)
		m.now = m.now.Add(lookAgain)
	}
	_, err := p.Commit(t.Context(), plan.ID, answer())
	if !errors.Is(err, ErrStatus) || !slept || !same(before, m.relay.texts()) {
		t.Errorf("%v, %v differ", err, differ(before, m.relay.texts()))
	}
	p, _ = m.start()
	_, err = p.ResumeOpen(t.Context())
	must(t, err)
	m.settled()
}

// TestHostileRecords: whatever somebody with the key wrote where records stand is
// said, nothing is changed by it, and everything else goes on.
func TestHostileRecords(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	plan := shown(before)
	m.keep(plan)
	p, _ := m.start()
	out, err := p.Commit(t.Context(), plan.ID, answer())
	must(t, err)
	good := m.relay.heads[prefix+plan.ID].text
	const id = "p-0123456789abcdef"
	part := func(text string) string { return strings.Replace(text, plan.ID, id, 1) }
	for name, text := range map[string]string{
		"garbage":         "mine",
		"unknown members": `{"a":1}`,
		"another plan's":  good,
		"no parts":        strings.Replace(part(good), `"parts":[`, `"parts":[],"x":[`, 1),
		"a status":        strings.Replace(part(good), `"done"`, `"fine"`, 1),
		"closed and open": strings.Replace(part(good), `"done"`, `"open"`, 1),
		"long":            strings.Repeat("x", 60_000),
		"parts elsewhere": part(good),
	} {
		t.Run(name, func(t *testing.T) {
			m.relay.set(prefix+id, text)
			m.relay.set(prefix+"other", text)
			for _, err := range []error{
				func() error { _, err := p.Undo(t.Context(), id, true); return err }(),
				func() error { _, err := p.Review(t.Context(), id); return err }(),
			} {
				if !errors.Is(err, ErrRecord) || len(err.Error()) > 300 {
					t.Errorf("%v", err)
				}
			}
			all, err := p.List(t.Context())
			if err != nil || len(all) != 3 {
				t.Fatalf("%v, %v", all, err)
			}
			for _, r := range all {
				if bad := errors.Is(r.Err, ErrRecord); bad == (r.ID == out.ID) && name != "parts elsewhere" {
					t.Errorf("%s: %v", r.ID, r.Err)
				}
			}
		})
	}
	for _, id := range []string{"", "x", "../core", "p-0123456789abcdef/1", "p-0123456789abcdef-0"} {
		if _, err := p.Resume(t.Context(), id); !errors.Is(err, ErrID) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := p.Undo(t.Context(), out.ID, false); err != nil || !same(before, m.relay.texts()) {
		t.Errorf("the good one: %v", err)
	}
}

// TestForgedContent: a record whose parts fit their hashes and say what no plan says
// changes nothing.
func TestForgedContent(t *testing.T) {
	before := memory()
	m := newMachine(t, "one", newRelay(before))
	p, d := m.start()
	w := &writer{memory: d}
	good := consolidation.Change{Slug: "mem/facts/old", Base: consolidation.Hash(before["mem/facts/old"]), Old: before["mem/facts/old"], New: "x"}
	for name, ch := range map[string]consolidation.Change{
		"the core":      {Slug: "core", Base: consolidation.Hash(before["core"]), Old: before["core"], New: "I obey."},
		"a record":      {Slug: prefix + "p-0123456789abcdef", New: "x"},
		"no slug":       {Slug: "mem/../core", New: "x"},
		"another base":  {Slug: good.Slug, Base: consolidation.Hash("x"), Old: good.Old, New: "x"},
		"no operation":  {Slug: good.Slug, Base: good.Base, Old: good.Old, New: "x", Op: 7},
		"no text":       {Slug: good.Slug, Base: good.Base, Old: good.Old},
		"one text only": {Slug: good.Slug, Old: good.Old, New: "x"},
	} {
		c := content{Plan: shown(before), Operations: answer(), Changes: []consolidation.Change{ch}}
		k := &job{p: p, w: w}
		err := k.begin(t.Context(), c, []string{""}, Open)
		must(t, err)
		if _, err := p.Resume(t.Context(), k.r.id); !errors.Is(err, ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !same(before, m.relay.texts()) {
		t.Errorf("%v differ", differ(before, m.relay.texts()))
	}
	q, _ := m.start()
	if out, err := q.ResumeOpen(t.Context()); !errors.Is(err, ErrRecord) || len(out) > 0 {
		t.Errorf("%v, %v", out, err)
	}
	if out, err := q.ResumeOpen(t.Context()); err != nil || len(out) > 0 {
		t.Errorf("said twice: %v, %v", out, err)
	}
}

// unasked is a memory of which only this machine answers, and no relay.
type unasked struct{ *door }

func (u unasked) Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	e, s, err := u.door.Get(ctx, slug)
	s.Stale, s.Partial = true, true
	return e, s, err
}

// TestPlansNeedRelays: what this machine alone says is there is nothing that a plan is
// carried out upon.
func TestPlansNeedRelays(t *testing.T) {
	w := &writer{memory: unasked{&door{relay: newRelay(map[string]string{"mem/a": "text"})}}}
	if there, err := w.get(t.Context(), "mem/a"); !errors.Is(err, client.ErrNoRelay) {
		t.Errorf("%+v, %v", there, err)
	}
}
