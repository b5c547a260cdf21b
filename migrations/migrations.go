// Package migrations embeds the numbered SQL files that make an engramd
// database.
//
// A file is named NNNN_what.sql and is applied once, in order, in a transaction
// of its own; the database remembers the number of the last one in PRAGMA
// user_version. What a released file makes of a database never changes: a
// change is a new file.
package migrations

import (
	"embed"
	"fmt"
	"io/fs"
	"sort"
	"strconv"
	"strings"
)

//go:embed *.sql
var files embed.FS

// ApplicationID is written to PRAGMA application_id, so that file(1) and the
// store know whose database it is ("EnGr").
const ApplicationID = 0x456e4772

// Migration is one numbered file.
type Migration struct {
	Version int    // 1, 2, 3, … without gaps
	Name    string // the file's name
	SQL     string
}

// Ranges stands on the line above a statement that is run once for each range
// of seq, ?1 to ?2, that the table events has: SQLite keeps what undoes a
// statement until it ends, and of the whole table that would be as large as the
// table.
const Ranges = "-- in ranges of events.seq:\n"

// RangeRows is how many numbers one of those runs takes. The first range begins
// with what FirstRange returns, each other one with what RangeAfter returns for
// the last number of the one before; NULL is the end.
const (
	RangeRows  = 10_000
	FirstRange = "SELECT min(seq) FROM events"
	RangeAfter = "SELECT min(seq) FROM events WHERE seq > ?"
)

// Step is a part of a migration.
type Step struct {
	SQL    string
	Ranged bool // one statement, to be run with ?1 and ?2
}

// Steps returns the parts of a migration in order.
func (m Migration) Steps() (steps []Step) {
	rest := m.SQL
	for {
		plain, more, found := strings.Cut(rest, Ranges)
		steps = append(steps, Step{SQL: plain})
		if !found {
			return steps
		}
		one, after, _ := strings.Cut(more, ";\n")
		steps = append(steps, Step{SQL: one, Ranged: true})
		rest = after
	}
}

// All returns the embedded migrations in order.
//
// It fails when the numbering has a gap or a repeat, which a test rules out for
// a released binary.
func All() ([]Migration, error) { return load(files) }

func load(fsys fs.FS) ([]Migration, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	sort.Strings(names)
	out := make([]Migration, 0, len(names))
	for i, name := range names {
		num, _, ok := strings.Cut(name, "_")
		version, err := strconv.Atoi(num)
		if !ok || err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %q: want a name starting with %04d_", name, i+1)
		}
		sql, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("migration %q: %w", name, err)
		}
		out = append(out, Migration{Version: version, Name: name, SQL: string(sql)})
	}
	return out, nil
}
