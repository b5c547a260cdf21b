package localcopy

import (
	"errors"
	"os"
	"testing"
)

// TestMarksOfWhatIsGone: a mark that was read is not noted once what the copy
// had from the relay is gone, so that an empty copy is never called whole.
func TestMarksOfWhatIsGone(t *testing.T) {
	for name, goes := range map[string]func(t *testing.T, m *Copy) error{
		"forgotten": func(t *testing.T, m *Copy) error { _, err := m.Forget(t.Context(), near); return err },
		"removed":   func(_ *testing.T, m *Copy) error { return os.Remove(m.file.Path()) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthor(t, "agent", "owner")
			m := open(t, a.Pair, Options{Dir: t.TempDir()})
			mark, err := m.Begin(t.Context(), near)
			if err != nil || mark.Life == 0 {
				t.Fatalf("%+v, %v", mark, err)
			}
			put(t, m, near, a.write("mem/a", "text", 1))
			mark.Complete, mark.Confirmed = true, m.now()
			if err := m.SetMark(t.Context(), near, mark); err != nil {
				t.Fatal(err)
			}
			if err := goes(t, m); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time the relay is noted again, by what it has
				if err := m.SetMark(t.Context(), near, mark); !errors.Is(err, ErrForgotten) {
					t.Errorf("noted all the same: %v", err)
				}
				put(t, m, near, a.write("mem/b", "text", 2))
			}
			if f, err := m.Freshness(t.Context(), []string{near}); err != nil || !f.Stale && !f.Unfinished {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
}
