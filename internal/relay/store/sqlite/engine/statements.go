package engine

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"engramd/internal/relay/store"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Exec runs a statement that returns no rows and reports how many rows it
// changed. Arguments are nil, int64, float64, string or []byte.
func (c *Conn) Exec(text string, args ...Value) (int64, error) {
	st, err := c.take(text)
	if err != nil {
		return 0, err
	}
	res, err := st.s.ExecContext(context.Background(), c.bind(args))
	c.put(text, st)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Query runs a statement and calls row for each row until it returns an error;
// ErrStop ends it without one. The slice given to row is reused, the []byte and
// string values in it are not and may be kept. INTEGER comes as int64, REAL as
// float64, TEXT as string, BLOB as []byte, NULL as nil. When ctx ends, the
// statement is interrupted.
func (c *Conn) Query(ctx context.Context, text string, args []Value, row func(v Row) error) (err error) {
	rows, err := c.Open(ctx, text, args)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); e != nil && err == nil {
			err = e
		}
	}()
	for {
		v, err := rows.Next()
		if err != nil || v == nil {
			return err
		}
		if err := row(v); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
}

// Row is a row of an answer. Its methods return the zero value where a column
// has none of their type.
type Row []Value

// Int returns an INTEGER.
func (r Row) Int(column int) int64 {
	n, _ := r[column].(int64)
	return n
}

// Text returns a TEXT.
func (r Row) Text(column int) string {
	s, _ := r[column].(string)
	return s
}

// Blob returns a BLOB.
func (r Row) Blob(column int) []byte {
	b, _ := r[column].([]byte)
	return b
}

// Hex returns a BLOB in hex.
func (r Row) Hex(column int) string { return hex.EncodeToString(r.Blob(column)) }

// List runs a query and returns what scan makes of its rows.
func List[T any](ctx context.Context, c *Conn, scan func(v Row) (T, error), text string, args ...Value) (out []T, err error) {
	err = c.Query(ctx, text, args, func(v Row) error {
		one, err := scan(v)
		if err == nil {
			out = append(out, one)
		}
		return err
	})
	return out, err
}

// ReadList is List on a connection that is lent for it.
func ReadList[T any](ctx context.Context, db *DB, how Effort, scan func(v Row) (T, error), text string, args ...Value) (out []T, err error) {
	err = db.Read(ctx, how, func(ctx context.Context, c *Conn) error {
		out, err = List(ctx, c, scan, text, args...)
		return err
	})
	return out, err
}

// Look is one look-up on a connection that is lent for it, by a method of Conn.
func Look[T any](ctx context.Context, db *DB, by func(c *Conn, text string, args ...Value) (T, error), text string, args ...Value) (found T, err error) {
	err = db.Read(ctx, LookUp, func(_ context.Context, c *Conn) error {
		found, err = by(c, text, args...)
		return err
	})
	return found, err
}

// Rows is a statement that runs, whose rows are taken one by one. Several with
// the same text are several prepared statements.
type Rows struct {
	c    *Conn
	text string
	st   *stmt
	rows driver.Rows
}

// Open starts a statement. The rows must be closed.
func (c *Conn) Open(ctx context.Context, text string, args []Value) (Rows, error) {
	st, err := c.take(text)
	if err != nil {
		return Rows{}, err
	}
	rows, err := c.start(ctx, st, args)
	if err != nil {
		return Rows{}, errors.Join(err, st.s.Close())
	}
	if st.row == nil {
		st.row = make([]Value, len(rows.Columns()))
	}
	return Rows{c, text, st, rows}, nil
}

// Next returns the next row, which is reused as that of Query is, or nil when
// there is none.
func (r *Rows) Next() (Row, error) {
	if err := r.rows.Next(r.st.row); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	return r.st.row, nil
}

// Conn is the connection that the statement runs on.
func (r *Rows) Conn() *Conn { return r.c }

// Close ends the statement, which is kept for the next time.
func (r *Rows) Close() error {
	err := r.rows.Close()
	r.c.put(r.text, r.st)
	return err
}

// start starts a statement. That of a paced read is ended by its pace, which
// costs less than a watch of the driver's.
func (c *Conn) start(ctx context.Context, st *stmt, args []Value) (driver.Rows, error) {
	if c.pace != nil {
		if err := c.pace.statement(args); err != nil {
			return nil, err
		}
		ctx = context.Background()
	}
	return st.s.QueryContext(ctx, c.bind(args))
}

// ErrStop ends Conn.Query early without an error.
var ErrStop = errors.New("stop")

// One runs a query of at most one row and returns a copy of it, or nil when
// there is none.
func (c *Conn) One(text string, args ...Value) (out Row, err error) {
	err = c.Query(context.Background(), text, args, func(v Row) error {
		out = append(out, v...)
		return ErrStop
	})
	return out, err
}

// Number runs a query of one INTEGER; no row and NULL are 0.
func (c *Conn) Number(text string, args ...Value) (int64, error) {
	row, err := c.One(text, args...)
	if err != nil || len(row) == 0 || row[0] == nil {
		return 0, err
	}
	n, ok := row[0].(int64)
	if !ok {
		return 0, fmt.Errorf("want an integer, got %T", row[0])
	}
	return n, nil
}

// Blob runs a query of one BLOB; no row and NULL are nil.
func (c *Conn) Blob(text string, args ...Value) ([]byte, error) {
	row, err := c.One(text, args...)
	if err != nil || row == nil {
		return nil, err
	}
	return row.Blob(0), nil
}

// Text runs a query of one TEXT; no row and NULL are "".
func (c *Conn) Text(text string, args ...Value) (string, error) {
	row, err := c.One(text, args...)
	if err != nil || row == nil {
		return "", err
	}
	return row.Text(0), nil
}

// Counted runs a query that counts what must not be, and reports a problem if
// there is any.
func (c *Conn) Counted(report *store.Report, check, advice, detail, text string) error {
	n, err := c.Number(text)
	if err == nil && n > 0 {
		report.Found(check, advice, detail, n)
	}
	return err
}

// Exists reports whether a query returns a row.
func (c *Conn) Exists(text string, args ...Value) (bool, error) {
	row, err := c.One(text, args...)
	return row != nil, err
}

// Script runs several statements without arguments.
func (c *Conn) Script(sql string) error {
	_, err := c.db.Exec(sql, nil)
	return err
}

// Each calls fn for the rows of a query after all of them were read, so that
// they can be changed while they are walked.
func (c *Conn) Each(text string, args []Value, fn func(v Row) error) error {
	rows, err := List(context.Background(), c, func(v Row) (Row, error) { return slices.Clone(v), nil }, text, args...)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := fn(row); err != nil {
			return err
		}
	}
	return nil
}
