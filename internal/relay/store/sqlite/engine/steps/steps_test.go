package steps_test

import (
	"database/sql/driver"
	"errors"
	"io"
	"reflect"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"

	"engramd/internal/relay/store/sqlite/engine/steps"
)

const count = `WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<100000) SELECT count(*) FROM n`

func open(t testing.TB) *sqlite3.SQLiteConn {
	t.Helper()
	c, err := (&sqlite3.SQLiteDriver{}).Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c.(*sqlite3.SQLiteConn)
}

// The field that is read is where it was, of the type that it was: an update of
// the driver that changes it fails here, and every use of a store would.
func TestDriverHasItsConnection(t *testing.T) {
	field, found := reflect.TypeFor[sqlite3.SQLiteConn]().FieldByName("db")
	if !found || field.Type.String() != "*sqlite3._Ctype_struct_sqlite3" || len(field.Index) != 1 {
		t.Errorf("the driver's SQLiteConn has its connection elsewhere: %+v; see docs/dependencies.md", field)
	}
}

func run(c *sqlite3.SQLiteConn) (int64, error) {
	rows, err := c.Query(count, nil)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	v := make([]driver.Value, 1)
	if err := rows.Next(v); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return v[0].(int64), nil
}

// Work is told of as it is done, the same each time, and only on the connection
// that is watched.
func TestNewIsToldOfWork(t *testing.T) {
	c, other := open(t), open(t)
	var calls, total int64
	w, err := steps.New(c, 1000, time.Hour, func(n int64) bool { calls, total = calls+1, total+n; return true })
	if err != nil {
		t.Fatal(err)
	}
	var had [2]int64
	for i := range had {
		calls = 0
		if n, err := run(c); n != 100000 || err != nil {
			t.Fatal(n, err)
		}
		had[i] = calls
	}
	if had[0] < 1000 || had[0] != had[1] || total != 1000*2*had[0] {
		t.Errorf("%d calls, then %d, of %d steps", had[0], had[1], total)
	}
	calls = 0
	if _, err := run(other); err != nil || calls != 0 {
		t.Errorf("%d calls by another connection (%v)", calls, err)
	}
	w.Close()
	if _, err := run(c); err != nil || calls != 0 {
		t.Errorf("%d calls after the end (%v)", calls, err)
	}
}

func TestFalseEndsTheStatement(t *testing.T) {
	c := open(t)
	left := 10
	w, err := steps.New(c, 1000, time.Hour, func(int64) bool { left--; return left > 0 })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	_, err = run(c)
	var failed sqlite3.Error
	if !errors.As(err, &failed) || failed.Code != sqlite3.ErrInterrupt {
		t.Errorf("%v", err)
	}
	left = 1 << 30
	if n, err := run(c); n != 100000 || err != nil {
		t.Errorf("after that: %d, %v", n, err)
	}
}

// Whoever is patient is called late, whoever is not, soon.
func TestPatience(t *testing.T) {
	c := open(t)
	for patience, want := range map[time.Duration]func(calls int) bool{
		0: func(calls int) bool { return calls > 1000 }, time.Hour: func(calls int) bool { return calls == 0 },
	} {
		calls := 0
		w, err := steps.New(c, 1<<30, patience, func(int64) bool { calls++; return true })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run(c); err != nil || !want(calls) {
			t.Errorf("patience %v: %d calls (%v)", patience, calls, err)
		}
		w.Close()
	}
}

// What is marked is what the statement looked at last, also when it is ended in
// the middle.
func TestMark(t *testing.T) {
	c := open(t)
	left := 20
	w, err := steps.New(c, 1000, time.Hour, func(int64) bool { left--; return left > 0 })
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Mark(-1)
	const marked = `WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<100000 AND engramd_mark(i)) SELECT count(*) FROM n WHERE i<0`
	rows, err := c.Query(marked, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := rows.Next(make([]driver.Value, 1)); err == nil {
		t.Fatal("it went on")
	}
	rows.Close()
	if at := w.At(); at < 500 || at > 10_000 {
		t.Errorf("it was ended at %d", at)
	}
}

func BenchmarkStatement(b *testing.B) {
	for _, every := range []int{0, 1000, 10_000} {
		b.Run(map[int]string{0: "unwatched", 1000: "thousand", 10_000: "tenthousand"}[every], func(b *testing.B) {
			c := open(b)
			if every > 0 {
				w, err := steps.New(c, every, time.Hour, func(int64) bool { return true })
				if err != nil {
					b.Fatal(err)
				}
				defer w.Close()
			}
			for b.Loop() {
				if _, err := run(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
