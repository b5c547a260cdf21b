package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/platform/journal"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine/highwater"
	"engramd/internal/relay/store/sqlite/engine/walscan"
)

// folder is a data folder whose database has a mark.
type folder struct {
	dir string
	log bytes.Buffer
}

func newFolder(t *testing.T) *folder { return &folder{dir: t.TempDir()} }

func (f *folder) options() Options {
	return Options{
		Path: File(f.dir), Last: lastWord, Mark: MarkFile(f.dir), Signs: []string{filepath.Join(f.dir, "tenants")}, Keys: []string{filepath.Join(f.dir, "relay.key")},
		After: func(time.Duration) <-chan time.Time { return nil }, Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	}
}

// open opens the words in the folder; change may change the options.
func (f *folder) open(t *testing.T, change ...func(*Options)) (*words, error) {
	t.Helper()
	a := &words{fail: map[string]error{}, after: map[string]func(*Writer){}}
	o := f.options()
	o.Observe = counting{told: a.tell}
	for _, c := range change {
		c(&o)
	}
	a.db = New(o)
	return a, a.db.Open(t.Context(), a)
}

func (f *folder) mustOpen(t *testing.T, change ...func(*Options)) *words {
	t.Helper()
	a, err := f.open(t, change...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.db.Close() })
	return a
}

// put stores words, a commit each.
func (a *words) put(t *testing.T, list ...string) {
	t.Helper()
	for _, word := range list {
		if r := a.together(t, 100, word)[0]; r.Outcome != store.Stored {
			t.Fatalf("%s: %+v", word, r)
		}
	}
}

func (a *words) close(t *testing.T) {
	t.Helper()
	if err := a.db.Close(); err != nil {
		t.Fatal(err)
	}
}

// killed is a copy of the folder as a kill would leave it now.
func (f *folder) killed(t *testing.T) *folder {
	t.Helper()
	c := newFolder(t)
	for _, name := range []string{"engramd.db", "engramd.db-wal", "engramd.mark"} {
		b, err := os.ReadFile(filepath.Join(f.dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		c.write(t, name, b)
	}
	return c
}

func (f *folder) write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *folder) read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (f *folder) remove(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := os.Remove(filepath.Join(f.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

func (f *folder) mark(t *testing.T) highwater.Mark {
	t.Helper()
	m, err := highwater.Read(MarkFile(f.dir))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// starts opens and closes the folder and wants these words in it.
func (f *folder) starts(t *testing.T, want ...string) {
	t.Helper()
	a, err := f.open(t)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close(t)
	if got := a.stored(t); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%q, want %q", got, want)
	}
}

func (f *folder) refused(t *testing.T, what string) *LossError {
	t.Helper()
	a, err := f.open(t)
	if err == nil {
		a.close(t)
		t.Fatalf("%s: it starts", what)
	}
	loss := new(LossError)
	if !errors.As(err, &loss) || !errors.Is(err, ErrLoss) || !strings.Contains(loss.What, what) {
		t.Fatalf("%v, want %q", err, what)
	}
	if same := Lost(f.options()); same == nil || same.Error() != err.Error() {
		t.Fatalf("asked for the loss: %v, on opening: %v", same, err)
	}
	return loss
}

// The mark names what is durable, whenever the process is killed: it is never
// ahead, and it is of the log's generation before the first answer.
func TestMarkIsNeverAhead(t *testing.T) {
	f := newFolder(t)
	a := f.mustOpen(t)
	var words []string
	for i := range 12 {
		word := fmt.Sprint("word", i)
		a.put(t, word)
		words = append(words, word)
		if i%4 == 3 { // another generation of the log
			if err := a.db.Do(t.Context(), func() error { return a.w.Conn().Script("PRAGMA wal_checkpoint(TRUNCATE)") }); err != nil {
				t.Fatal(err)
			}
		} else if m := f.mark(t); m.Salt == [8]byte{} || !bytes.Equal(m.Salt[:], f.read(t, "engramd.db-wal")[16:24]) {
			t.Fatalf("after %s the mark has the salt %x", word, m.Salt)
		}
		f.killed(t).starts(t, words...)
		lost := f.killed(t)
		lost.remove(t, "engramd.db-wal")
		if i%4 == 3 {
			lost.starts(t, words...)
		} else {
			lost.refused(t, "its write-ahead log is gone")
		}
	}
	before := f.mark(t)
	a.close(t)
	after := f.mark(t)
	if after.ID != before.ID || after.Salt != [8]byte{} || after.Seq != int64(len(words)) || after.Seq < before.Seq {
		t.Errorf("before the end %+v, after it %+v", before, after)
	}
	f.starts(t, words...)
}

// What changes nothing is not counted, and writes nothing; what gives a number is
// told by that, and what gives none is counted.
func TestWhatIsCounted(t *testing.T) {
	f := newFolder(t)
	a := f.mustOpen(t)
	was := a.w.marks.at
	a.put(t, "one")
	if a.w.marks.at.Commits != was.Commits || a.w.marks.at.Seq != 1 {
		t.Errorf("%+v after a word, %+v before", a.w.marks.at, was)
	}
	if err := a.db.Apart(t.Context(), func(w *Writer) error { return w.SetMeta("a", "change") }); err != nil {
		t.Fatal(err)
	}
	if a.w.marks.at.Commits != was.Commits+1 || a.w.marks.at.Seq != 1 {
		t.Errorf("%+v after a change, %+v before", a.w.marks.at, was)
	}
	log := len(f.read(t, "engramd.db-wal"))
	if err := a.db.Apart(t.Context(), func(w *Writer) error { _, err := w.Conn().Number("SELECT count(*) FROM words"); return err }); err != nil {
		t.Fatal(err)
	}
	if got := len(f.read(t, "engramd.db-wal")); got != log {
		t.Errorf("the log has grown from %d to %d", log, got)
	}
}

// All ways in which a database may come to be where it is, that lose nothing or
// are meant.
func TestStartsThatAreFine(t *testing.T) {
	whole := newFolder(t)
	a := whole.mustOpen(t)
	a.put(t, "a", "b")
	if err := a.db.Backup(t.Context(), filepath.Join(whole.dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	if err := a.db.Read(t.Context(), Scan, func(_ context.Context, c *Conn) error {
		return c.Script("PRAGMA query_only=0; VACUUM INTO '" + filepath.Join(whole.dir, "vacuumed.db") + "'; PRAGMA query_only=1")
	}); err != nil {
		t.Fatal(err)
	}
	a.put(t, "c")
	for name, start := range map[string]func(t *testing.T, f *folder){
		"after a kill": func(t *testing.T, f *folder) { f.starts(t, "a", "b", "c") },
		"after an end": func(t *testing.T, f *folder) { f.starts(t, "a", "b", "c"); f.starts(t, "a", "b", "c") },
		"a copy of a version that kept no mark": func(t *testing.T, f *folder) {
			f.remove(t, "engramd.mark")
			f.starts(t, "a", "b", "c")
			if !strings.Contains(f.log.String(), "it is taken as it is") {
				t.Error(f.log.String())
			}
		},
		"a backup in a new folder": func(t *testing.T, f *folder) {
			n := newFolder(t)
			n.write(t, "engramd.db", whole.read(t, "backup.db"))
			n.starts(t, "a", "b")
			if n.mark(t).ID == whole.mark(t).ID {
				t.Error("the copy has the id of the original")
			}
		},
		"what VACUUM INTO made, in a new folder": func(t *testing.T, f *folder) {
			n := newFolder(t)
			n.write(t, "engramd.db", whole.read(t, "vacuumed.db"))
			n.starts(t, "a", "b")
		},
		"an earlier version wrote meanwhile": func(t *testing.T, f *folder) {
			f.starts(t, "a", "b", "c")
			old := f.mustOpen(t, func(o *Options) { o.Mark = "" })
			if err := old.db.Do(t.Context(), func() error {
				_, err := old.w.Conn().Exec("INSERT INTO words(word) VALUES ('older')")
				return err
			}); err != nil {
				t.Fatal(err)
			}
			f.killed(t).starts(t, "a", "b", "c", "older")
			old.close(t)
			f.starts(t, "a", "b", "c", "older")
		},
		"a mark that is behind": func(t *testing.T, f *folder) {
			was := f.read(t, "engramd.mark")
			a := f.mustOpen(t)
			a.put(t, "d", "e")
			a.close(t)
			f.write(t, "engramd.mark", was)
			f.starts(t, "a", "b", "c", "d", "e")
		},
		"a mark file with one slot torn": func(t *testing.T, f *folder) {
			b := f.read(t, "engramd.mark")
			copy(b[512:], make([]byte, 512))
			f.write(t, "engramd.mark", b)
			f.starts(t, "a", "b", "c")
		},
		"a mark file that holds nothing": func(t *testing.T, f *folder) {
			f.write(t, "engramd.mark", nil)
			f.starts(t, "a", "b", "c")
			if !strings.Contains(f.log.String(), "level=WARN") {
				t.Error(f.log.String())
			}
		},
		"a first start that was cut short": func(t *testing.T, f *folder) {
			n := newFolder(t)
			n.write(t, "engramd.db", nil)
			n.write(t, "engramd.db-wal", nil)
			n.starts(t)
		},
		"a restore": func(t *testing.T, f *folder) {
			f.write(t, "new", whole.read(t, "backup.db"))
			place(t, f)
			f.starts(t, "a", "b")
			if strings.Contains(f.log.String(), "no mark file") {
				t.Error(f.log.String())
			}
			f.dir = filepath.Join(f.dir, "aside")
			f.starts(t, "a", "b", "c")
		},
		"keys alone": func(t *testing.T, f *folder) {
			n := newFolder(t)
			n.write(t, "relay.key", []byte("a key"))
			n.starts(t)
			if !strings.Contains(n.log.String(), "level=WARN") || !strings.Contains(n.log.String(), "relay.key") {
				t.Error(n.log.String())
			}
		},
	} {
		t.Run(name, func(t *testing.T) { start(t, whole.killed(t)) })
	}
}

func place(t *testing.T, f *folder) {
	t.Helper()
	if kept, err := Place(f.options(), filepath.Join(f.dir, "new"), "aside", "engramd restore"); err != nil || !kept {
		t.Fatal(kept, err)
	}
}

// Killed after any of its moves, a restore is refused by whoever opens the database,
// and finished by the next start.
func TestRestoreKilledAnywhere(t *testing.T) {
	whole := newFolder(t)
	a := whole.mustOpen(t)
	a.put(t, "a", "b")
	if err := a.db.Backup(t.Context(), filepath.Join(whole.dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	a.put(t, "c")
	for killed := range 5 {
		f := whole.killed(t)
		f.write(t, "new", whole.read(t, "backup.db"))
		work, err := placing(f.options(), filepath.Join(f.dir, "new"), "aside", "engramd restore")
		if err != nil {
			t.Fatal(err)
		}
		part := *work
		if part.Moves = work.Moves[:min(killed, len(work.Moves))]; killed > 0 {
			if err := part.Write(f.dir); err != nil {
				t.Fatal(err)
			}
			if _, err := journal.Finish(f.dir); err != nil {
				t.Fatal(err)
			}
		}
		if err := work.Write(f.dir); err != nil {
			t.Fatal(err)
		}
		if err := Lost(f.options()); err == nil || !strings.Contains(err.Error(), "engramd restore was interrupted") {
			t.Errorf("killed after %d: %v", killed, err)
		}
		if _, err := journal.Finish(f.dir); err != nil {
			t.Fatal(err)
		}
		f.starts(t, "a", "b")
		f.dir = filepath.Join(f.dir, "aside")
		f.starts(t, "a", "b", "c")
	}
	a.close(t)
}

// What is lost is refused, until that very loss is accepted.
func TestLossIsRefused(t *testing.T) {
	whole := newFolder(t)
	a := whole.mustOpen(t)
	a.put(t, "a", "b")
	if err := a.db.Backup(t.Context(), filepath.Join(whole.dir, "backup.db")); err != nil {
		t.Fatal(err)
	}
	a.close(t)
	a = whole.mustOpen(t)
	a.put(t, "c", "d", "e")
	for _, c := range []struct {
		name, what string
		lose       func(t *testing.T, f *folder)
		left       string
	}{
		{"all but the mark", "is missing", func(t *testing.T, f *folder) { f.remove(t, "engramd.db", "engramd.db-wal") }, ""},
		{"all but a mark that cannot be read", "is missing", func(t *testing.T, f *folder) {
			f.remove(t, "engramd.db", "engramd.db-wal")
			f.write(t, "engramd.mark", nil)
		}, ""},
		{"all but the log", "engramd.db-wal", func(t *testing.T, f *folder) { f.remove(t, "engramd.db", "engramd.mark") }, ""},
		{"all but snapshots", "tenants", func(t *testing.T, f *folder) {
			f.remove(t, "engramd.db", "engramd.mark", "engramd.db-wal")
			if err := os.Mkdir(filepath.Join(f.dir, "tenants"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, ""},
		{"what was in the database", "is missing", func(t *testing.T, f *folder) {
			f.remove(t, "engramd.db-wal")
			f.write(t, "engramd.db", nil)
		}, ""},
		{"the log", "its write-ahead log is gone", func(t *testing.T, f *folder) { f.remove(t, "engramd.db-wal") }, "a b"},
		{"what came after a backup", "it is an older copy", func(t *testing.T, f *folder) {
			f.remove(t, "engramd.db-wal")
			f.write(t, "engramd.db", whole.read(t, "backup.db"))
		}, "a b"},
		{"what a change made, that gave no number", "it is an older copy", func(t *testing.T, f *folder) {
			a := f.mustOpen(t)
			a.close(t)
			was := f.read(t, "engramd.db")
			a = f.mustOpen(t)
			if err := a.db.Apart(t.Context(), func(w *Writer) error { return w.SetMeta("a", "change") }); err != nil {
				t.Fatal(err)
			}
			a.close(t)
			f.write(t, "engramd.db", was)
		}, "a b c d e"},
		{"the database, for another one", "another database", func(t *testing.T, f *folder) {
			other := newFolder(t)
			a := other.mustOpen(t)
			a.put(t, "1", "2", "3", "4", "5", "6", "7", "8")
			a.close(t)
			f.remove(t, "engramd.db-wal")
			f.write(t, "engramd.db", other.read(t, "engramd.db"))
		}, "1 2 3 4 5 6 7 8"},
		{"a page of the log", "damaged at byte", func(t *testing.T, f *folder) {
			b := f.read(t, "engramd.db-wal")
			b[100] ^= 4
			f.write(t, "engramd.db-wal", b)
		}, "a b"},
		{"the header of the log", "damaged at byte", func(t *testing.T, f *folder) {
			b := f.read(t, "engramd.db-wal")
			b[14] ^= 1
			f.write(t, "engramd.db-wal", b)
		}, "a b"},
		{"a restore that was cut short", "another database", func(t *testing.T, f *folder) {
			was := f.killed(t)
			f.write(t, "new", whole.read(t, "backup.db"))
			place(t, f)
			f.write(t, "engramd.db", was.read(t, "engramd.db"))
		}, "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := whole.killed(t)
			c.lose(t, f)
			loss := f.refused(t, c.what)
			if again := f.refused(t, c.what); again.Word != loss.Word {
				t.Errorf("the word was %s, and is %s", loss.Word, again.Word)
			}
			if _, err := f.open(t, func(o *Options) { o.AcceptLoss = "000000000000" }); !errors.Is(err, ErrLoss) {
				t.Fatalf("another word: %v", err)
			}
			if _, err := f.open(t, func(o *Options) { o.ReadOnly = true }); !errors.Is(err, ErrLoss) {
				t.Fatalf("to read: %v", err)
			}
			a := f.mustOpen(t, func(o *Options) { o.AcceptLoss = loss.Word })
			if got := strings.Join(a.stored(t), " "); got != c.left {
				t.Errorf("left are %q, want %q", got, c.left)
			}
			a.put(t, "new")
			a.close(t)
			f.starts(t, append(strings.Fields(c.left), "new")...)
			if _, err := f.open(t, func(o *Options) { o.AcceptLoss = loss.Word }); err == nil {
				t.Error("nothing is lost, and it is accepted again")
			}
		})
	}
}

// A log that is torn anywhere within its last commits starts with what is whole.
func TestTornLogStarts(t *testing.T) {
	const frame = 24 + pageSize
	f := newFolder(t)
	a := f.mustOpen(t)
	a.put(t, "a", "b", "c")
	killed := f.killed(t)
	log := killed.read(t, "engramd.db-wal")
	hint := walscan.Hint{Salt: killed.mark(t).Salt, PageSize: pageSize}
	for size := len(log); size > len(log)-5*frame; size-- {
		in := (size - 32) % frame
		if in > 30 && in < frame-2 && size%97 != 0 {
			continue
		}
		r, err := walscan.Scan(bytes.NewReader(log[:size]), hint)
		if err != nil || r.Damaged {
			t.Fatalf("%d of %d bytes: %+v, %v", size, len(log), r, err)
		}
		if in > 1 && in < frame-1 {
			continue
		}
		cut := killed.killed(t)
		cut.write(t, "engramd.db-wal", log[:size])
		cut.mustOpen(t).close(t)
	}
}

// While the mark cannot be written, writes are refused as on a full disk.
func TestMarkThatCannotBeWritten(t *testing.T) {
	f := newFolder(t)
	blocked := MarkFile(f.dir) + ".new"
	if err := os.Mkdir(blocked, 0o700); err != nil {
		t.Fatal(err)
	}
	a := f.mustOpen(t)
	if !strings.Contains(f.log.String(), "level=WARN") {
		t.Error(f.log.String())
	}
	if r := a.together(t, 100, "word")[0]; !errors.Is(r.Err, store.ErrFull) {
		t.Fatalf("%+v", r)
	}
	if err := a.db.Ready(t.Context()); !errors.Is(err, store.ErrFull) {
		t.Fatalf("ready: %v", err)
	}
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	a.put(t, "word")
	if m := f.mark(t); m.ID == [16]byte{} {
		t.Errorf("%+v", m)
	}
}
