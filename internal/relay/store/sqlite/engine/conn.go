package engine

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/mattn/go-sqlite3"

	"engramd/internal/relay/store/sqlite/engine/steps"
	"engramd/internal/relay/store/sqlite/engine/sums"
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
	if err := sums.Register(out.db); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), out.Close())
	}
	for _, p := range pragmas {
		if _, err := out.db.Exec("PRAGMA "+p, nil); err != nil {
			out.Close()
			return nil, fmt.Errorf("open %s: PRAGMA %s: %w", path, p, err)
		}
	}
	return out, nil
}

// mapped is how much of the file is mapped: rows of one author lie far apart, and
// a read then costs a fault at most, not a copy of its page.
const mapped = 2147418112

// readerPragmas are the DSN values and pragmas of a connection that cannot
// write.
func readerPragmas(cache, mapped int64) (url.Values, []string) {
	return url.Values{"_query_only": {"1"}}, []string{
		"cache_size=-" + strconv.FormatInt(cache/1024, 10),
		"mmap_size=" + strconv.FormatInt(mapped, 10),
		"temp_store=FILE", // what a count needs to tell events apart goes to a file beyond some MiB, and not into memory
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
	if _, ok := c.stmts[text]; ok || len(text) > longText {
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

// Note has Noted return at until a statement notes another number, with the SQL
// function engramd_mark: where a statement was when it was ended. A connection
// for reading only.
func (c *Conn) Note(at int64) { c.watch.Mark(at) }

// Noted is the number that was noted last.
func (c *Conn) Noted() int64 { return c.watch.At() }

// Spend accounts for work of a read that no statement does, in steps. An error
// ends the read.
func (c *Conn) Spend(steps float64) error { return c.pace.did(steps) }
