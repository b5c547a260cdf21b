package localcopy

import (
	"testing"

	"engramd/internal/memory/state/sealedfile"
)

// TestNoneExternal: the copy says of itself that nothing in it is external, without its
// index, and only if that is so: of what the kept index has, and of what came since.
func TestNoneExternal(t *testing.T) {
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	says := func(m *Copy, want bool, when string) {
		t.Helper()
		got, err := NoneExternal(t.Context(), m)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", when, got, err, want)
		}
		if m.index != nil {
			t.Errorf("%s: the index was read", when)
		}
	}
	// again closes the copy with so many changes that its index is kept, and opens it.
	again := func(m *Copy) *Copy {
		t.Helper()
		if err := keepIndex(t.Context(), m, 0); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, a.Pair, Options{Dir: dir})
	}
	m := open(t, a.Pair, Options{Dir: dir})
	says(m, false, "nothing is kept")
	put(t, m, near, a.write("mem/boats", "painted in spring", 1_790_000_000))
	m = again(m)
	says(m, true, "one text of the agent")
	put(t, m, near, a.write("mem/oars", "Of ash wood.", 1_790_000_001))
	says(m, true, "another one since")
	put(t, m, near, a.write("mem/mail", "---\ntrust: external\n---\nDear all, the boats are sold.", 1_790_000_002))
	says(m, false, "an external one since")
	m = again(m)
	says(m, false, "an external one in the index")
	put(t, m, near, a.remove("mem/mail", 1_790_000_003))
	says(m, false, "it went since, and the index has it")
	m = again(m)
	says(m, true, "it went")
	if err := alter(t.Context(), m, func(tx *sealedfile.Tx) error {
		return tx.Exec("UPDATE kept SET mac = substr(mac, 1, ?) || randomblob(?)", macBytes, macBytes)
	}); err != nil {
		t.Fatal(err)
	}
	says(m, false, "it is no word of this copy's")
}
