package localcopy

import "testing"

// TestDiffering: what one relay has another may lack, and one alone lacks nothing.
func TestDiffering(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{NoDisk: true})
	compared := func(relay string) {
		t.Helper()
		mark, err := m.Begin(t.Context(), relay)
		if err != nil {
			t.Fatal(err)
		}
		mark.Complete = true
		if err := m.SetMark(t.Context(), relay, mark); err != nil {
			t.Fatal(err)
		}
	}
	differ := func(want int, when string) {
		t.Helper()
		got, err := Differing(t.Context(), m)
		if err != nil || len(got) != want {
			t.Errorf("%s: %+v, %v, want %d", when, got, err, want)
		}
	}
	differ(0, "no relay")
	boats, oars := a.write("mem/boats", "green", 1_790_000_000), a.write("mem/oars", "of ash", 1_790_000_001)
	put(t, m, near, boats, oars)
	compared(near)
	differ(0, "one relay")
	put(t, m, far, boats)
	differ(0, "another one, which was not compared")
	compared(far)
	differ(1, "another one that lacks one")
	put(t, m, far, oars)
	differ(0, "two alike")
}
