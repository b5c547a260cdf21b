package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func write(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func want(t *testing.T, dir, name, text string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, name))
	if text == "" && !errors.Is(err, os.ErrNotExist) || text != "" && string(got) != text {
		t.Errorf("%s: %q, %v; want %q", name, got, err, text)
	}
}

// Ended after any step, twice, and done again, it is done, and nothing of what was there
// is lost.
func TestInterruptedAnywhere(t *testing.T) {
	for first := range 5 {
		for second := range 5 {
			dir := t.TempDir()
			write(t, dir, "db", "db-wal", "mark", "key", "db.new", "mark.new")
			moves, err := Aside(dir, ".kept", "db", "db-wal", "db-shm")
			if err != nil || len(moves) != 2 {
				t.Fatal(moves, err)
			}
			moves = append(moves, Move{From: "mark.new", To: "mark", Over: true}, Move{From: "db.new", To: "db"})
			for _, part := range [][]Move{moves[:first], moves[:second], moves} { // as far as it came
				if err := (&Journal{Command: "engramd x", Moves: part}).Write(dir); err != nil {
					t.Fatal(err)
				}
				if _, err := Finish(dir, "engramd x"); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range map[string]string{
				"db": "old db.new", "mark": "old mark.new", "key": "old key", "db-wal": "", "db.new": "", "mark.new": "", Name: "",
				".kept/db": "old db", ".kept/db-wal": "old db-wal",
			} {
				want(t, dir, name, text)
			}
			if j, err := Finish(dir); j != nil || err != nil {
				t.Errorf("once more: %v, %v", j, err)
			}
		}
	}
}

// What only its command can go on with names that.
func TestBegun(t *testing.T) {
	dir := t.TempDir()
	j := Journal{Command: "engramd cluster join", Copy: "x"}
	if err := j.Write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Finish(dir, "engramd serve"); !errors.Is(err, ErrBegun) {
		t.Errorf("%v", err)
	}
	if done, err := Finish(dir, j.Command); done != nil || err != nil {
		t.Errorf("%v, %v", done, err)
	}
	if j, err := Read(dir); err != nil || j.Copy != "x" {
		t.Errorf("%v, %v", j, err)
	}
	if err := Drop(dir); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "{}", `{"command":"x","moves":[{"from":"a","to":"../b"}]}`, `{"command":"x","moves":[{"from":"/a","to":"b"}]}`} {
		if err := os.WriteFile(filepath.Join(dir, Name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if j, err := Read(dir); err == nil {
			t.Errorf("%q is %v", text, j)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"command":"x","copy":"y","moves":[{"from":"a","to":"b/c","over":true}]}`))
	f.Add([]byte(`{"command":"x","moves":[{"from":"a","to":".."}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		j, err := parse(text)
		if err != nil {
			return
		}
		for _, m := range j.Moves {
			if !filepath.IsLocal(m.From) || !filepath.IsLocal(m.To) {
				t.Errorf("%v leaves the folder", m)
			}
		}
	})
}
