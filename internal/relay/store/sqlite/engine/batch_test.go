package engine

import (
	"errors"
	"fmt"
	"testing"

	"engramd/internal/relay/store"
)

// TestOrderOfEffects: a batch is durable before the applier is told, then comes
// what becomes true with the commit, then whoever else is told, then the
// answers.
func TestOrderOfEffects(t *testing.T) {
	a := openWords(t)
	for _, word := range []string{"a", "b"} {
		a.after[word] = func(w *Writer) { w.After(func() { a.tell("After " + word) }) }
	}
	m := new(Member)
	m.Init("a", 1)
	n := new(Member)
	n.Init("b", 1)
	release := a.hold(t)
	a.calls()
	for _, m := range []*Member{m, n} {
		if err := a.db.Push(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	a.after["b"] = func(w *Writer) {
		w.After(func() {
			a.tell("After b")
			select {
			case <-m.Done():
				t.Error("it is answered before all are told")
			default:
			}
		})
	}
	release()
	m.Wait()
	n.Wait()
	want(t, "told", a.calls(), "durable", "Durable", "After a", "After b", "Announce a", "Announce b")
}

// TestOneIsUndone: a member that fails or is refused after it changed something
// takes nothing of the others with it, whether it has a savepoint or not.
func TestOneIsUndone(t *testing.T) {
	for name, why := range map[string]error{"fails": errors.New("no"), "refused": errRefused} {
		for _, bad := range []string{"bad", "risky"} {
			t.Run(name+"/"+bad, func(t *testing.T) {
				a := openWords(t)
				a.fail[bad] = why
				a.after[bad] = func(w *Writer) { w.After(func() { a.tell("After " + bad) }) }
				r := a.together(t, 1, "first", bad, "last")
				if r[0].Outcome != store.Stored || r[2].Outcome != store.Stored || r[1].Outcome == store.Stored {
					t.Errorf("%+v", r)
				}
				want(t, "stored", a.stored(t), "first", "last")
				told := []string{"Undo", "durable", "Durable", "Announce first", "Announce last"}
				if bad == "bad" { // the batch is done again, with savepoints
					told = append([]string{"RolledBack"}, told...)
				}
				want(t, "told", a.calls(), told...)
			})
		}
	}
}

// TestPanicIsAFailure: of its member alone.
func TestPanicIsAFailure(t *testing.T) {
	a := openWords(t)
	a.after["bad"] = func(*Writer) { panic("on purpose") }
	if r := a.together(t, 1, "a", "bad", "b"); r[1].Outcome != store.Failed || r[0].Outcome != store.Stored || r[2].Outcome != store.Stored {
		t.Errorf("%+v", r)
	}
	want(t, "stored", a.stored(t), "a", "b")
}

// TestHalves: in a full database what fits is stored.
func TestHalves(t *testing.T) {
	a := openWords(t)
	space, err := a.db.Space(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.db.Apart(t.Context(), func(w *Writer) error { return w.LimitSize(space.Database + 256<<10) }); err != nil {
		t.Fatal(err)
	}
	small, failed := 0, 0
	for i := range 8 {
		for _, r := range a.together(t, 20<<10, fmt.Sprint("x", i), fmt.Sprint("y", i), fmt.Sprint("z", i)) {
			switch {
			case r.Outcome == store.Stored:
				small++
			case errors.Is(r.Err, store.ErrFull):
				failed++
			default:
				t.Fatalf("%+v", r)
			}
		}
	}
	if n := len(a.stored(t)); n != small || small < 8 || failed == 0 {
		t.Errorf("%d were stored, %d failed, %d are there", small, failed, n)
	}
	if a.tight {
		t.Error("it is tight for ever")
	}
}

// TestReclaim: what did not fit is tried again when there is room to be had.
func TestReclaim(t *testing.T) {
	a := openWords(t)
	err := a.db.Apart(t.Context(), func(w *Writer) error {
		a.spare = true
		return w.LimitSize(64 << 10)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range a.together(t, 100<<10, "a", "b") {
		if r.Outcome != store.Stored {
			t.Errorf("%d: %+v", i, r)
		}
	}
	want(t, "stored", a.stored(t), "a", "b")
}

// TestFailedCommit: nobody is told of what COMMIT did not make durable.
func TestFailedCommit(t *testing.T) {
	a := openWords(t)
	allow := BreakCommits(a.db)
	for _, r := range a.together(t, 1, "a", "b") {
		if r.Outcome != store.Failed {
			t.Errorf("%+v", r)
		}
	}
	allow()
	want(t, "told", a.calls(), "not durable", "RolledBack")
	want(t, "stored", a.stored(t))
}
