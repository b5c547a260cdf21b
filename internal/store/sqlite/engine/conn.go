package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/mattn/go-sqlite3"

	"engramd/internal/store/sqlite/engine/steps"
)

// Value is an argument of a statement or a column of a row: nil, int64, float64,
// string or []byte.
type Value = driver.Value

// Conn is one SQLite connection with its prepared statements. It is used by one
// goroutine at a time.
//
// database/sql is left out on purpose: its pool hides which connection a pragma
// was set on, and costs several allocations and a lock for each of the writer's
// statements.
type Conn struct {
	db    *sqlite3.SQLiteConn
	stmts map[string]*stmt // idle prepared statements by their text
	limit int              // of stmts
	clock uint64           // counts uses, for eviction
	named []driver.NamedValue
	watch *steps.Watch // of a connection for clients
	pace  *pace        // of the read under way; nil: as fast as it goes
	extra bool         // opened because all others were lent
}

// stmt is a prepared statement.
type stmt struct {
	s    *sqlite3.SQLiteStmt
	row  []Value // one row, reused
	used uint64
}

// connect opens a connection on an existing file and sets its pragmas: those in
// dsn values go through the driver's DSN, so that no connection exists without
// them; more are run one by one.
func connect(path string, dsn url.Values, pragmas []string) (*Conn, error) {
	dsn.Set("_mutex", "no") // one goroutine at a time; sqlite3_interrupt is allowed from others
	dsn.Set("_busy_timeout", "10000")
	dsn.Set("_stmt_cache_size", "0")
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: dsn.Encode()}
	var drv sqlite3.SQLiteDriver
	c, err := drv.Open(u.String())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	out := &Conn{db: c.(*sqlite3.SQLiteConn), stmts: map[string]*stmt{}, limit: 256}
	for _, p := range pragmas {
		if _, err := out.db.Exec("PRAGMA "+p, nil); err != nil {
			out.Close()
			return nil, fmt.Errorf("open %s: PRAGMA %s: %w", path, p, err)
		}
	}
	return out, nil
}

// readerPragmas are the DSN values and pragmas of a connection that cannot
// write.
func readerPragmas(cache int64) (url.Values, []string) {
	return url.Values{"_query_only": {"1"}}, []string{
		"cache_size=-" + strconv.FormatInt(cache/1024, 10),
		"mmap_size=2147418112", // rows of one author lie far apart: a read then costs a fault at most, not a copy of its page
		"temp_store=FILE",      // what a count needs to tell events apart goes to a file beyond some MiB, and not into memory
		"trusted_schema=OFF",
	}
}

// Memory opens an empty database in memory.
func Memory() (*Conn, error) { return connect(":memory:", url.Values{}, nil) }

// Close finalizes the statements and closes the connection.
func (c *Conn) Close() error {
	if c.watch != nil {
		c.watch.Close()
		c.watch = nil
	}
	for text, st := range c.stmts {
		st.s.Close()
		delete(c.stmts, text)
	}
	return c.db.Close()
}

// take returns the prepared statement for text and removes it from the cache,
// so that a query nested in another one with the same text gets its own.
func (c *Conn) take(text string) (*stmt, error) {
	if st, ok := c.stmts[text]; ok {
		delete(c.stmts, text)
		return st, nil
	}
	s, err := c.db.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	return &stmt{s: s.(*sqlite3.SQLiteStmt)}, nil
}

// longText is the length from which on the text of a statement is not kept:
// only odd filters make such, each another one, and compiled they take a
// hundred times as much.
const longText = 4096

// put gives a statement back; the least recently used one goes when there are
// too many.
func (c *Conn) put(text string, st *stmt) {
	c.clock++
	st.used = c.clock
	if _, twice := c.stmts[text]; twice || len(text) > longText {
		st.s.Close()
		return
	}
	if len(c.stmts) >= c.limit {
		oldest, at := "", c.clock
		for t, s := range c.stmts {
			if s.used < at {
				oldest, at = t, s.used
			}
		}
		if old, ok := c.stmts[oldest]; ok {
			old.s.Close()
			delete(c.stmts, oldest)
		}
	}
	c.stmts[text] = st
}

// bind numbers the arguments. The slice is valid until the next call; the
// driver copies it before it returns.
func (c *Conn) bind(args []Value) []driver.NamedValue {
	c.named = c.named[:0]
	for i, a := range args {
		c.named = append(c.named, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.named
}

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

// Note has Noted return at until a statement notes another number, with the SQL
// function engramd_mark: where a statement was when it was ended. A connection
// for reading only.
func (c *Conn) Note(at int64) { c.watch.Mark(at) }

// Noted is the number that was noted last.
func (c *Conn) Noted() int64 { return c.watch.At() }

// Spend accounts for work of a read that no statement does, in steps. An error
// ends the read.
func (c *Conn) Spend(steps float64) error { return c.pace.did(steps) }
