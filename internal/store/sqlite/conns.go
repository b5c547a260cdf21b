package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/mattn/go-sqlite3"

	"engramd/internal/store/sqlite/steps"
)

// conn is one SQLite connection with its prepared statements. It is used by one
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
	row  []driver.Value // one row, reused
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
func ReaderPragmas(cache int64) (url.Values, []string) {
	return url.Values{"_query_only": {"1"}}, []string{
		"cache_size=-" + strconv.FormatInt(cache/1024, 10),
		"mmap_size=2147418112", // rows of one author lie far apart: a read then costs a fault at most, not a copy of its page
		"temp_store=FILE",      // what a count needs to tell events apart goes to a file beyond some MiB, and not into memory
		"trusted_schema=OFF",
	}
}

// close finalizes the statements and closes the connection.
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
func (c *Conn) bind(args []driver.Value) []driver.NamedValue {
	c.named = c.named[:0]
	for i, a := range args {
		c.named = append(c.named, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.named
}

// exec runs a statement that returns no rows and reports how many rows it
// changed. Arguments are nil, int64, float64, string or []byte.
func (c *Conn) Exec(text string, args ...driver.Value) (int64, error) {
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

// query runs a statement and calls row for each row until it returns an error;
// errStop ends it without one. The slice given to row is reused, the []byte and
// string values in it are not and may be kept. INTEGER comes as int64, REAL as
// float64, TEXT as string, BLOB as []byte, NULL as nil. When ctx ends, the
// statement is interrupted.
func (c *Conn) Query(ctx context.Context, text string, args []driver.Value, row func(v []driver.Value) error) (err error) {
	st, err := c.take(text)
	if err != nil {
		return err
	}
	rows, err := c.start(ctx, st, args)
	if err != nil {
		st.s.Close()
		return err
	}
	defer func() {
		if e := rows.Close(); e != nil && err == nil {
			err = e
		}
		c.put(text, st)
	}()
	if st.row == nil {
		st.row = make([]driver.Value, len(rows.Columns()))
	}
	for {
		if err := rows.Next(st.row); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := row(st.row); err != nil {
			if errors.Is(err, ErrStop) {
				return nil
			}
			return err
		}
	}
}

// start starts a statement. That of a paced read is ended by its pace, which
// costs less than a watch of the driver's.
func (c *Conn) start(ctx context.Context, st *stmt, args []driver.Value) (driver.Rows, error) {
	if c.pace != nil {
		if err := c.pace.statement(args); err != nil {
			return nil, err
		}
		ctx = context.Background()
	}
	return st.s.QueryContext(ctx, c.bind(args))
}

// errStop ends conn.query early without an error.
var ErrStop = errors.New("stop")

// one runs a query of at most one row and returns a copy of it, or nil when
// there is none.
func (c *Conn) One(text string, args ...driver.Value) ([]driver.Value, error) {
	var out []driver.Value
	err := c.Query(context.Background(), text, args, func(v []driver.Value) error {
		out = append(out, v...)
		return ErrStop
	})
	return out, err
}

// number runs a query of one INTEGER; no row and NULL are 0.
func (c *Conn) Number(text string, args ...driver.Value) (int64, error) {
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

// exists reports whether a query returns a row.
func (c *Conn) Exists(text string, args ...driver.Value) (bool, error) {
	row, err := c.One(text, args...)
	return row != nil, err
}

// script runs several statements without arguments.
func (c *Conn) Script(sql string) error {
	_, err := c.db.Exec(sql, nil)
	return err
}
