package membership

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"engramd/internal/platform/journal"
)

// Killed after any change, a node that joins again is finished by the next start: with
// the other database and the new id, the keys, and all that was there.
func TestJoinAgainKilledAnywhere(t *testing.T) {
	for killed := range 8 {
		dir := t.TempDir()
		for _, name := range []string{"engramd.db", "engramd.db-wal", "engramd.mark", "relay.key", "cluster.past", "engramd.db.joining"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("was "+name), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		old := Identity{Cluster: [16]byte{1}, Node: [8]byte{1}, Boot: 7}
		if err := errors.Join(old.Save(dir), os.Mkdir(filepath.Join(dir, "tenants"), 0o700)); err != nil {
			t.Fatal(err)
		}
		id := Identity{Cluster: [16]byte{1}, Node: [8]byte{2}, Again: 1800000000}
		moves, err := Joining{Dir: dir, Command: Serving, Aside: ".struck-x", Again: id.Again}.moves(id, "engramd.db.joining")
		if err != nil || len(moves) != 6 {
			t.Fatal(moves, err)
		}
		for _, work := range [][]journal.Move{moves[:min(killed, 6)], moves} { // the first one is what came before the end
			if len(work) == 0 {
				continue
			}
			if err := (&journal.Journal{Command: Serving, Moves: work}).Write(dir); err != nil {
				t.Fatal(err)
			}
			if done, err := journal.Finish(dir, Serving); done == nil || err != nil {
				t.Fatal(done, err)
			}
		}
		for name, want := range map[string]string{
			"engramd.db": "was engramd.db.joining", "engramd.db-wal": "", "engramd.mark": "", "engramd.db.joining": "", journal.Name: "",
			"relay.key": "was relay.key", "cluster.past": "was cluster.past",
			".struck-x/engramd.db": "was engramd.db", ".struck-x/engramd.db-wal": "was engramd.db-wal", ".struck-x/engramd.mark": "was engramd.mark",
		} {
			if text, err := os.ReadFile(filepath.Join(dir, name)); string(text) != want {
				t.Errorf("killed after %d: %s: %q, %v", killed, name, text, err)
			}
		}
		if got, err := Read(dir); err != nil || got != id {
			t.Errorf("killed after %d: %+v, %v", killed, got, err)
		}
		if got, err := Read(filepath.Join(dir, ".struck-x")); err != nil || got != old {
			t.Errorf("killed after %d: kept %+v, %v", killed, got, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "tenants")); err != nil {
			t.Error(err)
		}
	}
}

// What was read is known for a while, and a number whose place another one has is not.
func TestPast(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		p, err := OpenPast(dir)
		if err != nil {
			t.Fatal(err)
		}
		p.Note(5, [16]byte{5})
		p.Note(pastMost+6, [16]byte{6})
		for number, want := range map[uint64]byte{5: 5, pastMost + 6: 6, 6: 0, 7: 0, pastMost + 5: 0, 1 << 60: 0} {
			if hash, known := p.At(number); hash[0] != want || known != (want > 0) {
				t.Errorf("%d: %x, %v", number, hash, known)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
