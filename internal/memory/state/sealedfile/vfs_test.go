package sealedfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"testing"

	"github.com/ncruces/go-sqlite3"
	"github.com/ncruces/go-sqlite3/vfs"
)

// TestChecksumsOfEachConnection: one that was opened while the first page lay in
// the log writes pages that others can read.
func TestChecksumsOfEachConnection(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	first, _, err := opened(t, path, testKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		if err := first.Write(t.Context(), func(tx *Tx) error {
			return tx.Exec("INSERT INTO notes VALUES (?, ?)", fmt.Sprint("n", i), bytes.Repeat([]byte("x"), 3000))
		}); err != nil {
			t.Fatal(err)
		}
	}
	second, _, err := opened(t, path, testKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := first.idle[0].db.WALCheckpoint("main", sqlite3.CHECKPOINT_PASSIVE); err != nil {
		t.Fatal(err)
	}
	// Now the first page is in the file, and the second has never read it there.
	if err := second.Write(t.Context(), func(tx *Tx) error { return tx.Exec("UPDATE notes SET text = ?", bytes.Repeat([]byte("y"), 3000)) }); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*File{first, second} { // the second takes the log into the file
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	third, warned, err := opened(t, path, testKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	err = third.Read(t.Context(), func(tx *Tx) error {
		for r := range tx.Rows("SELECT text FROM notes") {
			n += len(r.Raw(0)) / 3000
		}
		return nil
	})
	if err != nil || n != 30 || len(*warned) > 0 {
		t.Errorf("%d rows, %v, %q", n, err, *warned)
	}
}

// tornFile shows something else at each of the first readings.
type tornFile struct {
	vfs.File
	torn  int
	whole []byte
}

func (f *tornFile) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, f.whole[min(off, int64(len(f.whole))):])
	if f.torn > 0 && n > 0 {
		p[n-1] = byte(f.torn)
		f.torn--
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// TestLogIsReadWhole: a block of the log that changes while it is read is read
// until it does not, and one that never stays is an error.
func TestLogIsReadWhole(t *testing.T) {
	whole := bytes.Repeat([]byte{0xee}, 5000)
	for torn, want := range map[int]error{0: nil, 1: nil, 7: nil, 200: errAny} {
		for _, off := range []int64{0, 4096, 5000} {
			s := &steadyLog{File: &tornFile{torn: torn, whole: whole}}
			p := make([]byte, 4096)
			n, err := s.ReadAt(p, off)
			left := min(len(whole)-int(off), len(p))
			switch {
			case want != nil && left > 0:
				if err == nil || err == io.EOF || n > 0 {
					t.Errorf("%d torn at %d: %d bytes, %v", torn, off, n, err)
				}
			case n != left || (err == io.EOF) != (left < len(p)) || !bytes.Equal(p[:n], whole[:n]):
				t.Errorf("%d torn at %d: %d bytes, %v", torn, off, n, err)
			}
		}
	}
}

var errAny = errors.New("some error")
