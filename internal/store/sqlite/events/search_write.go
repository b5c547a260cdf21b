package events

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store/sqlite/engine"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// The full-text index is two FTS5 tables with one column, content, and the
// event's seq as rowid: "search" for what is everybody's, "search_entries" for
// plain contract entries. They are apart because bm25 weighs a word by how many
// rows of its table have it: in one table, the order of a stranger's hits would
// tell which words stand in contracts he does not know of.
//
// They hold terms only. With secure-delete set, what is taken out leaves the
// file; FTS5 wants the text again for that (it waits in search_gone, see
// search_purge.go), so searchText must give the same text for the same event
// for ever: whoever changes it, or what lies in which table, changes
// searchVersion too, and the index is built anew.
const (
	searchVersion = "2"

	searchOpen    = "search"
	searchEntries = "search_entries"

	sqlHasFTS5    = `SELECT 1 FROM pragma_module_list WHERE name = 'fts5'`
	sqlHasSearch  = `SELECT 1 FROM sqlite_schema WHERE name = ?`
	sqlSearchable = `SELECT seq, json, class FROM events WHERE seq > ? AND class IN (0, 2) ORDER BY seq LIMIT ?`
)

// indexSQL are the statements that change one of the tables.
type indexSQL struct{ create, enter, remove, clear string }

func indexStatements(table string) indexSQL {
	return indexSQL{
		create: `CREATE VIRTUAL TABLE ` + table + ` USING fts5(content, content='', tokenize="unicode61 remove_diacritics 2");
			INSERT INTO ` + table + `(` + table + `, rank) VALUES ('secure-delete', 1)`,
		enter:  `INSERT INTO ` + table + `(rowid, content) VALUES (?, ?)`,
		remove: `INSERT INTO ` + table + `(` + table + `, rowid, content) VALUES ('delete', ?, ?)`,
		clear:  `INSERT INTO ` + table + `(` + table + `) VALUES ('delete-all')`,
	}
}

// searchTable is where events of a class are found.
func searchTable(class gate.Class) string {
	if class == gate.Open {
		return searchOpen
	}
	return searchEntries
}

// Keys of the table meta that say how far the index is: built up to and
// including a seq, or complete.
const (
	metaSearch        = "search"
	metaSearchVersion = "search_version"
	searchComplete    = int64(math.MaxInt64)
)

// indexChange is one row to enter into the full-text index, or to take out.
type indexChange struct {
	seq   int64
	class gate.Class
	text  string
	gone  bool
}

// searchText is what of an event can be found by words: "" for nothing.
// Ciphertext, lists and reactions are left out.
func searchText(class gate.Class, ev *nostr.Event) string {
	switch {
	case class == gate.Contract && ev.Kind == niptemp.KindEntry:
		var entry struct {
			Content string `json:"content"`
		}
		if json.Unmarshal([]byte(ev.Content), &entry) != nil {
			return ""
		}
		return entry.Content
	case class != gate.Open || !textKind(ev.Kind) || isCiphertext(ev.Content):
		return ""
	}
	var b strings.Builder
	b.WriteString(ev.Content)
	for _, t := range ev.Tags {
		if len(t) >= 2 && (t[0] == "title" || t[0] == "subject" || t[0] == "summary") {
			b.WriteByte('\n')
			b.WriteString(t[1])
		}
	}
	return b.String()
}

// textKind reports whether the content of an open kind is text for people. What
// is not: contact lists and relay hints (3), deletions, reposts, reactions,
// seals, vanish requests, zaps, group messages that are encrypted (MLS), and
// replaceable lists, whose content is private where there is any.
func textKind(kind int) bool {
	switch kind {
	case 3, 5, 6, 7, 13, 16, 17, 62, 443, 444, 445, 9734, 9735:
		return false
	}
	return kind < 10000 || kind >= 20000
}

// isCiphertext reports whether the content is a NIP-44 payload or a NIP-04
// message.
func isCiphertext(content string) bool {
	return strings.Contains(content, "?iv=") || nipae.CheckPayload(content) == nil
}

// index notes that an event is to enter the index when the transaction ends.
func (w *writer) index(seq int64, class gate.Class, ev *nostr.Event) {
	if seq <= w.searchTo {
		if text := searchText(class, ev); text != "" {
			w.stage.indexed = append(w.stage.indexed, indexChange{seq: seq, class: class, text: text})
		}
	}
}

// unindex notes that an event is to leave it.
func (w *writer) unindex(seq int64, class gate.Class, ev *nostr.Event) {
	if seq <= w.searchTo {
		if text := searchText(class, ev); text != "" {
			w.stage.indexed = append(w.stage.indexed, indexChange{seq: seq, class: class, text: text, gone: true})
		}
	}
}

// writeIndex writes what was noted, once at the end of the transaction: FTS5
// flushes to disk at every savepoint. Search is worth less than events, so when
// the index itself is broken it is switched off, to be built anew at the next
// start, and the transaction goes on. The error is for a transaction that
// cannot, for want of space or memory.
func (w *writer) writeIndex() error {
	if len(w.stage.indexed) == 0 {
		return nil
	}
	err := w.InSavepoint(w.applyIndex)
	if err == nil || engine.OutOfRoom(err) || w.Lost() {
		return err
	}
	return w.searchFailed(err)
}

// searchFailed switches search off with the transaction; the index is built
// anew at the next start.
func (w *writer) searchFailed(err error) error {
	w.s.log.Error("full-text index failed; search is off until the next start", "err", err)
	w.After(func() {
		w.searchTo, w.purging = -1, false
		w.s.search.Store(false)
	})
	return w.SetMeta(metaSearchVersion, "")
}

func (w *writer) applyIndex() error {
	statements := map[string]indexSQL{
		searchOpen: indexStatements(searchOpen), searchEntries: indexStatements(searchEntries),
	}
	gone := false
	for _, c := range w.stage.indexed {
		var err error
		sql := statements[searchTable(c.class)]
		switch {
		case !c.gone:
			_, err = w.Exec(sql.enter, c.seq, c.text)
		case w.noRoom:
			_, err = w.Exec(sql.remove, c.seq, c.text)
		default:
			gone = true
			_, err = w.Exec(sqlSearchGone, c.seq, int64(c.class), c.text)
		}
		if err != nil {
			return err
		}
	}
	if gone {
		w.After(func() { w.purging = true })
	}
	return nil
}

// openSearch finds out whether this program has FTS5 and how far the index is.
// A program without it marks the index as behind, because it writes events that
// are not in it.
func (w *writer) openSearch(ctx context.Context) error {
	w.searchTo = -1
	has, err := w.c.Exists(sqlHasFTS5)
	if err != nil {
		return err
	}
	if !has {
		w.s.log.Warn("full-text search is not available: built without the tag sqlite_fts5")
		if _, err := w.Exec(sqlForgetGone); err != nil {
			return err
		}
		return w.SetMeta(metaSearchVersion, "")
	}
	version, err := w.c.Meta(metaSearchVersion)
	if err != nil {
		return err
	}
	if version != searchVersion {
		if err := w.c.Transaction(w.clearSearch); err != nil {
			return fmt.Errorf("prepare full-text index: %w", err)
		}
	}
	if w.purging, err = w.c.Exists(sqlAnyGone); err != nil {
		return err
	}
	if w.searchTo, err = w.c.Number(`SELECT value FROM meta WHERE key = ?`, metaSearch); err != nil {
		return err
	}
	if w.searchTo == searchComplete {
		w.s.search.Store(true)
		return nil
	}
	return w.buildSearch(ctx)
}

// searchIsComplete reports whether the index can be used as it lies in the
// database.
func searchIsComplete(c *engine.Conn) (bool, error) {
	has, err := c.Exists(sqlHasFTS5)
	if err != nil || !has {
		return false, err
	}
	return c.Exists(`SELECT 1 FROM meta AS m, meta AS v WHERE m.key = ? AND m.value = ? AND v.key = ? AND v.value = ?`,
		metaSearch, searchComplete, metaSearchVersion, searchVersion)
}

// clearSearch makes an empty index that is built up to nothing.
func (w *writer) clearSearch() error {
	for _, table := range []string{searchOpen, searchEntries} {
		if err := w.emptyIndex(table); err != nil {
			return err
		}
	}
	if _, err := w.Exec(sqlForgetGone); err != nil {
		return err
	}
	if err := w.SetMeta(metaSearch, int64(0)); err != nil {
		return err
	}
	return w.SetMeta(metaSearchVersion, searchVersion)
}

// emptyIndex leaves one table without rows; one that is too damaged to be
// emptied is made anew.
func (w *writer) emptyIndex(table string) error {
	statements := indexStatements(table)
	has, err := w.c.Exists(sqlHasSearch, table)
	if err != nil {
		return err
	}
	if has {
		err := w.InSavepoint(func() error { return w.c.Script(statements.clear) })
		if err == nil || engine.OutOfRoom(err) || w.Lost() {
			return err
		}
		if err := w.c.Script("DROP TABLE " + table); err != nil {
			return err
		}
	}
	return w.c.Script(statements.create)
}

// Building takes this many events per transaction; up to this many are done
// before the store is open, more while it works, with search switched off until
// then.
const (
	buildChunk  = 1000
	buildAtOpen = 20 * buildChunk
)

func (w *writer) buildSearch(ctx context.Context) error {
	for range buildAtOpen / buildChunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := w.Step(w.buildStep)
		if err != nil || !more {
			return err
		}
	}
	w.s.log.Info("building the full-text index; search is off until it is done")
	w.building = true
	return nil
}

// buildStep enters the next events into the index.
func (w *writer) buildStep() (more bool, err error) {
	last, n := w.searchTo, 0
	err = w.c.Each(sqlSearchable, []engine.Value{last, int64(buildChunk)}, func(row []engine.Value) error {
		ev, err := parsed(row[1].([]byte))
		if err != nil {
			return err
		}
		n++
		last = row[0].(int64)
		class := gate.Class(row[2].(int64))
		if text := searchText(class, ev); text != "" {
			w.stage.indexed = append(w.stage.indexed, indexChange{seq: last, class: class, text: text})
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if n < buildChunk {
		last = searchComplete
	}
	if err := w.SetMeta(metaSearch, last); err != nil {
		return false, err
	}
	w.After(func() {
		w.searchTo = last
		w.s.search.Store(last == searchComplete)
	})
	return last != searchComplete, nil
}
