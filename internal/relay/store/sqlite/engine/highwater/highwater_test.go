package highwater

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// made makes a file with two marks, and returns them.
func made(t *testing.T) (path string, older, newer Mark) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "engramd.mark")
	older = Mark{ID: NewID(), Commits: 7, Seq: 5, Salt: [8]byte{1, 2}, Turn: 1}
	f, err := Make(path, older)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	newer = Mark{ID: older.ID, Commits: 9, Seq: 6, Salt: [8]byte{3}, Turn: 2}
	if err := f.Write(newer); err != nil {
		t.Fatal(err)
	}
	return path, older, newer
}

func TestMarksAreKept(t *testing.T) {
	path, _, newer := made(t)
	if got, err := Read(path); err != nil || got != newer {
		t.Fatalf("%+v, %v", got, err)
	}
	for range 3 {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		newer = Mark{ID: newer.ID, Commits: newer.Commits + 1, Turn: newer.Turn + 1}
		if err := errors.Join(f.Write(newer), f.Close()); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path); err != nil || got != newer {
			t.Fatalf("%+v, %v, want %+v", got, err, newer)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 2*slotSize || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// Whatever becomes of one slot, the other one is read.
func TestOneSlotIsEnough(t *testing.T) {
	path, older, newer := made(t)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		b := append([]byte(nil), whole...)
		b[at] ^= 0x40
		want := newer // which lies in the second slot
		if at >= slotSize {
			want = older
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Read(path); err != nil || got != want {
			t.Fatalf("byte %d flipped: %+v, %v", at, got, err)
		}
	}
	for size := range len(whole) {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if size < slotSize {
			if !errors.Is(err, ErrUnreadable) {
				t.Fatalf("%d bytes: %v", size, err)
			}
		} else if err != nil || got != older {
			t.Fatalf("%d bytes: %+v, %v", size, got, err)
		}
	}
	if _, err := Read(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// FuzzSlot: what is parsed is what is written.
func FuzzSlot(f *testing.F) {
	f.Add(Mark{ID: [16]byte{1}, Commits: 3}.slot())
	f.Add(make([]byte, slotSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		if m, ok := parse(b); ok {
			if again, ok := parse(m.slot()); !ok || again != m {
				t.Errorf("%+v, %+v", m, again)
			}
		}
	})
}
