package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
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
func (c *Conn) Query(ctx context.Context, text string, args []Value, row func(v []Value) error) (err error) {
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
func (r *Rows) Next() ([]Value, error) {
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
func (c *Conn) One(text string, args ...Value) ([]Value, error) {
	var out []Value
	err := c.Query(context.Background(), text, args, func(v []Value) error {
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
func (c *Conn) Each(text string, args []Value, fn func(row []Value) error) error {
	var rows [][]Value
	err := c.Query(context.Background(), text, args, func(v []Value) error {
		rows = append(rows, append([]Value(nil), v...))
		return nil
	})
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
