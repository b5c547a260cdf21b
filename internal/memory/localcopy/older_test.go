package localcopy

import (
	"bytes"
	"context"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/state/sealedfile"
)

// keptBlob is the index that a file has.
func keptBlob(t *testing.T, m *Copy) (blob []byte) {
	t.Helper()
	err := m.file.Read(context.Background(), func(tx *sealedfile.Tx) error {
		for r := range tx.Rows("SELECT blob FROM kept") {
			blob = r.Blob(0)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return blob
}

// TestOlderIndex: an index of version 1 (testdata, of the texts below) serves a reader
// that has no time to make a new one, with what changed since, and is left as it was.
// The next other reader makes a new one, finds by that, and keeps it.
func TestOlderIndex(t *testing.T) {
	written, err := os.ReadFile("testdata/index-v1.hex")
	if err != nil {
		t.Fatal(err)
	}
	older, err := hex.DecodeString(strings.ReplaceAll(strings.ReplaceAll(string(written), "\r", ""), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	m := open(t, a.Pair, Options{Dir: dir})
	put(t, m, near, a.write("mem/lantern", "The harbour sleeps under a yellow lantern.", 1), a.write("mem/zeppelin", "A zeppelin crossed the meadow at noon.", 2),
		a.write("mem/airship", "Das Luftschiff fliegt über die Wiese.", 3))
	if err := m.keepIndex(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	at := keptAt(t, m)
	err = m.file.Write(t.Context(), func(tx *sealedfile.Tx) error {
		return tx.Exec("UPDATE kept SET blob = ?, mac = ?", older, m.seal.mac("index", numbers(at), older))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Leave(); err != nil {
		t.Fatal(err)
	}
	found := func(m *Copy, query string) string {
		t.Helper()
		var slugs []string
		for _, f := range recalled(t, m, query) {
			slugs = append(slugs, f.Slug)
		}
		return strings.Join(slugs, " ")
	}

	hook := open(t, a.Pair, Options{Dir: dir, Older: true})
	if got := found(hook, "Which zeppelin?"); got != "mem/zeppelin" || !hook.index.Older() {
		t.Errorf("a reader without time finds %q, by an older index %v", got, hook.index.Older())
	}
	put(t, hook, near, a.write("mem/balloon", "A balloon followed the zeppelins.", 4))
	if got := found(hook, "balloon"); got != "mem/balloon" || !hook.index.Older() {
		t.Errorf("of what is new it finds %q, by an older index %v", got, hook.index.Older())
	}
	shown(t, hook)
	if err := hook.Close(); err != nil {
		t.Fatal(err)
	}

	m = open(t, a.Pair, Options{Dir: dir})
	if !bytes.Equal(keptBlob(t, m), older) {
		t.Error("a reader without time replaced the index")
	}
	for query, want := range map[string]string{"balloon": "mem/balloon", "Luftschiffe": "mem/airship", "lanterns": "mem/lantern"} {
		if got := found(m, query); got != want || m.index.Older() {
			t.Errorf("another reader finds %q for %s, by an older index %v", got, query, m.index.Older())
		}
	}
	shown(t, m)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Dir: dir, Older: true}, {Dir: dir}} {
		m := open(t, a.Pair, o)
		kept, err := recall.Decode(keptBlob(t, m))
		if err != nil || kept.Older() {
			t.Fatalf("no new index was kept: %v", err)
		}
		if got := found(m, "balloon"); got != "mem/balloon" || m.index.Older() {
			t.Errorf("after that %q is found, by an older index %v", got, m.index.Older())
		}
	}
}
