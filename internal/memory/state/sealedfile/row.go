package sealedfile

import (
	"fmt"
	"iter"

	"github.com/ncruces/go-sqlite3"
)

// Row is one row of an answer, valid until the function that it was given to
// returns. Columns count from 0.
type Row struct{ s *sqlite3.Stmt }

// Text returns a column as text; "" for NULL.
func (r Row) Text(i int) string { return r.s.ColumnText(i) }

// Int returns a column as a number; 0 for NULL.
func (r Row) Int(i int) int64 { return r.s.ColumnInt64(i) }

// Blob returns a copy of a column's bytes; nil for NULL.
func (r Row) Blob(i int) []byte { return r.s.ColumnBlob(i, nil) }

// Raw returns a column's bytes, which are valid as long as the row.
func (r Row) Raw(i int) []byte { return r.s.ColumnRawBlob(i) }

// Null reports whether a column is NULL.
func (r Row) Null(i int) bool { return r.s.ColumnType(i) == sqlite3.NULL }

// Exec runs one statement and returns the transaction's error: once there is one,
// nothing more is done, and it need not be looked at before the end. Arguments are
// string, []byte, int, int64, float64, bool and nil.
func (t *Tx) Exec(sql string, args ...any) error {
	for range t.Rows(sql, args...) {
	}
	return t.err
}

// Rows runs one statement and gives the rows of the answer; none after an error.
func (t *Tx) Rows(sql string, args ...any) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		if t.err != nil {
			return
		}
		s, done, err := t.c.statement(sql)
		if err != nil {
			t.err = err
			return
		}
		defer done()
		for i, arg := range args {
			if t.err = damage(bind(s, i+1, arg)); t.err != nil {
				return
			}
		}
		for s.Step() {
			if !yield(Row{s}) || t.err != nil {
				return
			}
		}
		t.err = damage(s.Err())
	}
}

// Int returns the number that a statement answers; 0 without a row.
func (t *Tx) Int(sql string, args ...any) (n int64) {
	for r := range t.Rows(sql, args...) {
		n = r.Int(0)
	}
	return n
}

// Has reports whether a statement answers with a row.
func (t *Tx) Has(sql string, args ...any) (found bool) {
	for range t.Rows(sql, args...) {
		found = true
	}
	return found
}

// Fail makes an error the transaction's, unless it has one.
func (t *Tx) Fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// Round tells the file from one that was there before or will be: see File.Mended.
func (t *Tx) Round() int { return t.c.round }

// Err returns the transaction's error.
func (t *Tx) Err() error { return t.err }

// Changed returns how many rows the last statement changed.
func (t *Tx) Changed() int64 { return t.c.db.Changes() }

// statement returns a prepared statement and what to call after its use. The
// text of a statement is a constant of the program, so that few are kept.
func (c *conn) statement(sql string) (*sqlite3.Stmt, func(), error) {
	if s := c.prepared[sql]; s != nil {
		delete(c.prepared, sql) // a use of it within a use of it prepares another
		return s, func() { c.keep(sql, s) }, nil
	}
	s, tail, err := c.db.Prepare(sql)
	if err != nil {
		return nil, nil, damage(err)
	}
	if s == nil || tail != "" {
		return nil, nil, fmt.Errorf("not one statement: %q", sql)
	}
	return s, func() { c.keep(sql, s) }, nil
}

func (c *conn) keep(sql string, s *sqlite3.Stmt) {
	// Reset repeats the error of the last step, which was told.
	_ = s.Reset()
	if s.ClearBindings() != nil || len(c.prepared) >= maxStatements || c.prepared[sql] != nil {
		s.Close()
		return
	}
	c.prepared[sql] = s
}

func bind(s *sqlite3.Stmt, i int, arg any) error {
	switch v := arg.(type) {
	case string:
		return s.BindText(i, v)
	case []byte:
		return s.BindBlob(i, v)
	case int:
		return s.BindInt(i, v)
	case int64:
		return s.BindInt64(i, v)
	case float64:
		return s.BindFloat(i, v)
	case bool:
		return s.BindBool(i, v)
	case nil:
		return s.BindNull(i)
	}
	return fmt.Errorf("argument %d: a %T cannot be kept", i, arg)
}
