package localcopy

import (
	"context"
	"fmt"
	"testing"
	"time"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/state/sealedfile"
)

// TestIndexIsKept: an index is loaded as it was kept, with what changed since,
// by processes that were open all the time too.
func TestIndexIsKept(t *testing.T) {
	a, dir, c := newAuthor(t, "agent", "owner"), t.TempDir(), newClock()
	o := Options{Dir: dir, Now: c.now}
	m, idle := open(t, a.Pair, o), open(t, a.Pair, o)
	for i := range worthKeeping {
		put(t, m, near, a.write(fmt.Sprintf("mem/n%d", i), fmt.Sprintf("number %d", i), 100))
	}
	shown(t, idle)
	if rows(t, m, "kept") != 0 {
		t.Error("it was kept before its time")
	}
	c.pass(keepEvery)
	put(t, m, near, a.write("mem/last", "last", 100))
	if rows(t, m, "kept") != 1 {
		t.Fatal("it was not kept")
	}
	gone := a.write("mem/n0", "number 0 again", 200)
	put(t, m, near, gone, a.write("mem/later", "later", 200))
	lose(t, m, near, gone)
	if _, err := m.Drop(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	fresh := open(t, a.Pair, o)
	want := shown(t, m)
	if got := shown(t, fresh); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if fresh.at <= keptAt(t, fresh) {
		t.Error("nothing was added to what was kept")
	}
	// What left is forgotten with the next keeping, and an index of before that
	// is loaded anew.
	if err := keepIndex(context.Background(), m, 1); err != nil {
		t.Fatal(err)
	}
	if n := rows(t, m, "places"); n != worthKeeping+1 {
		t.Errorf("%d addresses, want %d", n, worthKeeping+1)
	}
	if got := shown(t, idle); got != want {
		t.Errorf("the one that waited: %q, want %q", got, want)
	}
}

func keptAt(t *testing.T, m *Copy) (seq int64) {
	t.Helper()
	err := m.file.Read(context.Background(), func(tx *sealedfile.Tx) error {
		seq = tx.Int("SELECT seq FROM kept")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

// TestIndexThatDoesNotFit: of another version or hand, or of a state
// that the file is not in, it is made anew from the texts.
func TestIndexThatDoesNotFit(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	a := newAuthor(t, "agent", "owner")
	dir, want := filled(t, a)
	empty := recall.New()
	for name, seq := range map[string]int64{"older than what is forgotten": 1, "newer than the file": 1 << 40, "of no version": 70, "another's": 70} {
		m := open(t, a.Pair, Options{Dir: dir})
		err := m.file.Write(context.Background(), func(tx *sealedfile.Tx) error {
			if err := tx.Exec("UPDATE counter SET floor = 40"); err != nil {
				return err
			}
			blob := empty.Encode()
			if name == "of no version" {
				blob = []byte("not an index")
			}
			mac := m.seal.mac("index", numbers(seq), blob)
			if name == "another's" {
				mac[0] ^= 1
			}
			return tx.Exec("UPDATE kept SET seq = ?, blob = ?, mac = ?", seq, blob, mac)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(t, m); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestAnotherProcessesWriteIsFound: by a reader that was open before.
func TestAnotherProcessesWriteIsFound(t *testing.T) {
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	m, other := open(t, a.Pair, Options{Dir: dir}), open(t, a.Pair, Options{Dir: dir})
	put(t, m, near, a.write("mem/a", "The harbour sleeps under a yellow lantern.", 1))
	for i, step := range []func(){
		func() { put(t, other, near, a.write("mem/b", "A zeppelin crossed the meadow at noon.", 2)) },
		func() { put(t, other, near, a.write("mem/b", "Nothing crossed anything.", 3)) },
		func() { put(t, other, near, a.write("mem/b", "A zeppelin came back.", 4)) },
		func() { put(t, other, near, a.remove("mem/b", 5)) },
	} {
		step()
		found := recalled(t, m, "zeppelin")
		if (len(found) == 1) != (i%2 == 0) {
			t.Errorf("step %d: %+v", i, found)
		}
	}
}

// TestWrittenTime: a text without a time of its own has that of its event.
func TestWrittenTime(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	m := open(t, a.Pair, Options{NoDisk: true})
	put(t, m, near, a.write("mem/a", "zeppelin", 1_700_000_000), a.write("mem/b", "---\nwhen: 2026-05-01\n---\nzeppelin", 1_700_000_000))
	err := m.Read(context.Background(), func(v *View) error {
		when := map[string]string{}
		for _, h := range v.Index().Rank(recall.Query{Text: "zeppelin"}, recall.Recipe(), 10) {
			when[h.Slug] = h.When.UTC().Format(time.RFC3339)
		}
		if len(when) != 2 || when["mem/a"] != "2023-11-14T22:13:20Z" || when["mem/b"] != "2026-05-01T00:00:00Z" {
			return fmt.Errorf("%v", when)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
