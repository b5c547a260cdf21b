package engine

import (
	"errors"
	"testing"

	"engramd/internal/relay/store"
)

// startJob has a word begin a job of so many steps.
func (a *words) startJob(word string, steps int, m func() *Member) {
	left := steps
	a.after[word] = func(w *Writer) {
		w.StartJob(&Job{
			Member: m(),
			Step: func() (bool, error) {
				a.tell("step of " + word)
				left--
				return left > 0, a.fail["step of "+word]
			},
			Save: func() func() { was := left; return func() { left = was } },
		})
	}
}

// TestJobs: who began one is answered after its last step, others before that,
// and jobs are done in the order in which they began.
func TestJobs(t *testing.T) {
	a := openWords(t)
	var m, n Member
	m.Init("m", 1)
	n.Init("n", 1)
	a.startJob("m", 2, func() *Member { return &m })
	a.startJob("n", 1, func() *Member { return &n })
	release := a.hold(t)
	for _, m := range []*Member{&m, &n} {
		if err := a.db.Push(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	release()
	if r := n.Wait(); r.Outcome != store.Stored {
		t.Errorf("%+v", r)
	}
	select {
	case <-m.Done():
	default:
		t.Error("the first is answered after the second")
	}
	want(t, "told", a.calls(), "durable", "Durable", "Announce m", "Announce n",
		"step of m", "Durable", "step of m", "Durable", "step of n", "Durable")
}

// TestJobThatFails: its member is told, and the next job goes on.
func TestJobThatFails(t *testing.T) {
	a := openWords(t)
	var m, n Member
	m.Init("m", 1)
	n.Init("n", 1)
	a.fail["step of m"] = errors.New("no")
	a.startJob("m", 2, func() *Member { return &m })
	a.startJob("n", 1, func() *Member { return &n })
	release := a.hold(t)
	for _, m := range []*Member{&m, &n} {
		if err := a.db.Push(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	release()
	if r := m.Wait(); r.Outcome != store.Failed {
		t.Errorf("%+v", r)
	}
	if r := n.Wait(); r.Outcome != store.Stored {
		t.Errorf("%+v", r)
	}
}

// TestCloseAnswersJobs: one that a close cuts short is answered.
func TestCloseAnswersJobs(t *testing.T) {
	a := openWords(t)
	var m Member
	m.Init("m", 1)
	a.startJob("m", 1<<30, func() *Member { return &m })
	if err := a.db.Push(t.Context(), &m); err != nil {
		t.Fatal(err)
	}
	if err := a.db.Close(); err != nil {
		t.Fatal(err)
	}
	if r := m.Wait(); !errors.Is(r.Err, store.ErrClosed) {
		t.Errorf("%+v", r)
	}
	if err := a.db.Do(t.Context(), func() error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
