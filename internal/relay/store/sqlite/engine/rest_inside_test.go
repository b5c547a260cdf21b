package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A log that is large, or has something alone for an hour, is written back when
// the writer has nothing to do, and the mark with it.
func TestLogIsWrittenBackAtRest(t *testing.T) {
	f := newFolder(t)
	now := time.Unix(1_700_000_000, 0)
	due := make(chan time.Time) // a value is taken where the writer waits to look at the log
	a := f.mustOpen(t, func(o *Options) {
		o.Clock = func() time.Time { return now }
		o.After = func(d time.Duration) <-chan time.Time {
			if d <= time.Minute {
				return due
			}
			return nil
		}
	})
	turn := func() {
		if err := a.db.Do(t.Context(), func() error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	log := func() int64 {
		size, err := sizeOf(File(f.dir) + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return size
	}
	wantBack := func(words ...string) {
		t.Helper()
		due <- now
		for log() > 0 {
			if t.Context().Err() != nil {
				t.Fatal("the log is not written back")
			}
			turn()
		}
		turn()
		if m := f.mark(t); m.Salt != [8]byte{} || (standing{m.Seq, m.Commits}) != a.w.marks.at {
			t.Errorf("the mark is %+v, the database at %+v", m, a.w.marks.at)
		}
		lost := f.killed(t)
		lost.remove(t, "engramd.db-wal")
		lost.starts(t, words...)
	}

	a.put(t, "one")
	due <- now
	turn()
	if log() == 0 {
		t.Error("a small log was written back at once")
	}
	now = now.Add(2 * time.Hour)
	a.put(t, "two")
	wantBack("one", "two")

	if r := a.together(t, 2<<20, "large")[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	wantBack("one", "two", "large")
}

// While somebody reads, it is put off.
func TestLogIsReadAtRest(t *testing.T) {
	f := newFolder(t)
	a := f.mustOpen(t)
	a.put(t, "one")
	err := a.db.Read(t.Context(), Scan, func(ctx context.Context, c *Conn) error {
		return c.Query(ctx, "SELECT 1 FROM words", nil, func(Row) error {
			a.put(t, "two")
			return a.db.Do(ctx, func() error {
				k := &a.w.keeper
				k.put = restAge
				k.wroteBack(checkpoint(File(f.dir)))
				if k.since.IsZero() || k.put != logPause {
					t.Errorf("since %v, put off by %v", k.since, k.put)
				}
				return nil
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(f.log.String(), "could not be written back") {
		t.Error(f.log.String())
	}
}

// A log that cannot be written back says why.
func TestLogThatCannotBeWrittenBack(t *testing.T) {
	f := newFolder(t)
	a := f.mustOpen(t)
	a.put(t, "one")
	broken, err := Memory()
	if err != nil {
		t.Fatal(err)
	}
	if err := broken.Close(); err != nil {
		t.Fatal(err)
	}
	err = a.db.Do(t.Context(), func() error {
		k := &a.w.keeper
		k.put = restAge
		k.wroteBack(errors.New("the disk is broken"))
		k.wroteBack(errors.New("the disk is broken"))
		if k.put != 2*logPause {
			t.Errorf("put off by %v", k.put)
		}
		c := k.c
		k.c, k.resume = broken, func() {}
		k.clear()
		k.c = c
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	told := f.log.String()
	if strings.Count(told, `level=WARN msg="the write-ahead log could not be written back to the database" err=`) != 3 || strings.Contains(told, "scans were held up") {
		t.Error(told)
	}
}
