// Package search is the full-text index: what of an event stands in it, how it is
// built, and how a text leaves it.
package search

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/ledger"
)

// The full-text index is two FTS5 tables with one column, content, and the
// event's seq as rowid: "search" for what is everybody's, "search_entries" for
// plain contract entries. They are apart because bm25 weighs a word by how many
// rows of its table have it: in one table, the order of a stranger's hits would
// tell which words stand in contracts he does not know of.
//
// They hold terms only. With secure-delete set, what is taken out leaves the
// file; FTS5 wants the text again for that (it waits in search_gone, see
// build.go), so Text must give the same text for the same event
// for ever: whoever changes it, or what lies in which table, changes
// searchVersion too, and the index is built anew.
const (
	searchVersion = "2"

	OpenTable    = "search"
	EntriesTable = "search_entries"

	sqlHasFTS5   = `SELECT 1 FROM pragma_module_list WHERE name = 'fts5'`
	sqlHasSearch = `SELECT 1 FROM sqlite_schema WHERE name = ?`
)

var sqlSearchable = `SELECT seq, json, class, ` + column.Sound("events", "events") + ` FROM events WHERE seq > ? AND class IN (0, 2) ORDER BY seq LIMIT ?`

// Statements are the statements that change one of the tables.
type Statements struct{ Create, Enter, remove, Clear string }

// StatementsOf returns the statements that change a table.
func StatementsOf(table string) Statements {
	return Statements{
		Create: `CREATE VIRTUAL TABLE ` + table + ` USING fts5(content, content='', tokenize="unicode61 remove_diacritics 2");
			INSERT INTO ` + table + `(` + table + `, rank) VALUES ('secure-delete', 1)`,
		Enter:  `INSERT INTO ` + table + `(rowid, content) VALUES (?, ?)`,
		remove: `INSERT INTO ` + table + `(` + table + `, rowid, content) VALUES ('delete', ?, ?)`,
		Clear:  `INSERT INTO ` + table + `(` + table + `) VALUES ('delete-all')`,
	}
}

// Table is where events of a class are found.
func Table(class gate.Class) string {
	if class == gate.Open {
		return OpenTable
	}
	return EntriesTable
}

// Keys of the table meta that say how far the index is: built up to and
// including a seq, or complete.
const (
	metaSearch     = "search"
	MetaVersion    = "search_version"
	searchComplete = int64(math.MaxInt64)
)

// Index keeps the index.
type Index struct {
	*ledger.Tx
	On       *atomic.Bool  // it exists
	Waiting  func() int    // for the writer
	changes  []indexChange // applied at the end of the transaction
	kept     int           // of them, when the member began
	UpTo     int64         // events up to this seq are in it; -1: there is none
	Building bool          // between batches
	Purging  bool          // search_gone may have rows
}

// Begin is ledger.Part's, and so are those that follow.
func (f *Index) Begin()      { f.changes = f.changes[:0] }
func (f *Index) Mark()       { f.kept = len(f.changes) }
func (f *Index) Undo()       { f.changes = f.changes[:f.kept] }
func (f *Index) RolledBack() { f.changes = f.changes[:0] }

// indexChange is one row to enter into the full-text index, or to take out.
type indexChange struct {
	seq   int64
	class gate.Class
	text  string
	gone  bool
}

// Enter notes that an event is to enter the index when the transaction ends.
func (f *Index) Enter(seq int64, class gate.Class, ev *nostr.Event) {
	if seq <= f.UpTo {
		if text := Text(class, ev); text != "" {
			f.changes = append(f.changes, indexChange{seq: seq, class: class, text: text})
		}
	}
}

// Leave notes that an event is to leave it.
func (f *Index) Leave(seq int64, class gate.Class, ev *nostr.Event) {
	if seq <= f.UpTo {
		if text := Text(class, ev); text != "" {
			f.changes = append(f.changes, indexChange{seq: seq, class: class, text: text, gone: true})
		}
	}
}

// End writes what was noted, once at the end of the transaction: FTS5
// flushes to disk at every savepoint. Search is worth less than events, so when
// the index itself is broken it is switched off, to be built anew at the next
// start, and the transaction goes on. The error is for a transaction that
// cannot, for want of space or memory.
func (f *Index) End() error {
	if len(f.changes) == 0 {
		return nil
	}
	err := f.InSavepoint(f.applyIndex)
	switch {
	case err == nil:
		return nil
	case engine.OutOfRoom(err) || f.Lost():
		return fmt.Errorf("full-text index: %w", err)
	}
	return f.searchFailed(err)
}

// searchFailed switches search off with the transaction; the index is built
// anew at the next start.
func (f *Index) searchFailed(err error) error {
	f.Logger.Error("full-text index failed; search is off until the next start", "err", err)
	f.After(func() {
		f.UpTo, f.Purging = -1, false
		f.On.Store(false)
	})
	return f.SetMeta(MetaVersion, "")
}

func (f *Index) applyIndex() error {
	statements := map[string]Statements{
		OpenTable: StatementsOf(OpenTable), EntriesTable: StatementsOf(EntriesTable),
	}
	gone := false
	for _, c := range f.changes {
		var err error
		sql := statements[Table(c.class)]
		switch {
		case !c.gone:
			_, err = f.Exec(sql.Enter, c.seq, c.text)
		case f.Tight:
			_, err = f.Exec(sql.remove, c.seq, c.text)
		default:
			gone = true
			_, err = f.Exec(sqlSearchGone, c.seq, int64(c.class), c.text)
		}
		if err != nil {
			return err
		}
	}
	if gone {
		f.After(func() { f.Purging = true })
	}
	return nil
}

const (
	sqlSearchGone = `INSERT INTO search_gone(seq, class, text) VALUES (?, ?, ?)`
	sqlGone       = `SELECT seq, class, text FROM search_gone ORDER BY seq LIMIT ?`
	sqlAnyGone    = `SELECT 1 FROM search_gone LIMIT 1`
	sqlWasPurged  = `DELETE FROM search_gone WHERE seq = ?`
	sqlForgetGone = `DELETE FROM search_gone`
)
