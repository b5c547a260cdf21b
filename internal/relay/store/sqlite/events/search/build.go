package search

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// Building takes this many events per transaction; up to this many are done
// before the store is open, more while it works, with search switched off until
// then.
const (
	buildChunk  = 1000
	BuildAtOpen = 20 * buildChunk
)

// Open finds out whether this program has FTS5 and how far the index is.
// A program without it marks the index as behind, because it writes events that
// are not in it.
func (f *Index) Open(ctx context.Context) error {
	f.UpTo = -1
	has, err := f.Conn().Exists(sqlHasFTS5)
	if err != nil {
		return err
	}
	if !has {
		f.Logger.Warn("full-text search is not available: built without the tag sqlite_fts5")
		if _, err := f.Exec(sqlForgetGone); err != nil {
			return err
		}
		return f.SetMeta(MetaVersion, "")
	}
	version, err := f.Conn().Meta(MetaVersion)
	if err != nil {
		return err
	}
	if version != searchVersion {
		if err := f.Conn().Transaction(f.clearSearch); err != nil {
			return fmt.Errorf("prepare full-text index: %w", err)
		}
	}
	if f.Purging, err = f.Conn().Exists(sqlAnyGone); err != nil {
		return err
	}
	if f.UpTo, err = f.Conn().Number(engine.SQLMeta, metaSearch); err != nil {
		return err
	}
	if f.UpTo == searchComplete {
		f.On.Store(true)
		return nil
	}
	return f.buildSearch(ctx)
}

// IsComplete reports whether the index can be used as it lies in the
// database.
func IsComplete(c *engine.Conn) (bool, error) {
	has, err := c.Exists(sqlHasFTS5)
	if err != nil || !has {
		return false, err
	}
	return c.Exists(`SELECT 1 FROM meta AS m, meta AS v WHERE m.key = ? AND m.value = ? AND v.key = ? AND v.value = ?`,
		metaSearch, searchComplete, MetaVersion, searchVersion)
}

// clearSearch makes an empty index that is built up to nothing.
func (f *Index) clearSearch() error {
	for _, table := range []string{OpenTable, EntriesTable} {
		if err := f.emptyIndex(table); err != nil {
			return err
		}
	}
	if _, err := f.Exec(sqlForgetGone); err != nil {
		return err
	}
	if err := f.SetMeta(metaSearch, int64(0)); err != nil {
		return err
	}
	return f.SetMeta(MetaVersion, searchVersion)
}

// emptyIndex leaves one table without rows; one that is too damaged to be
// emptied is made anew.
func (f *Index) emptyIndex(table string) error {
	statements := StatementsOf(table)
	has, err := f.Conn().Exists(sqlHasSearch, table)
	if err != nil {
		return err
	}
	if has {
		err := f.InSavepoint(func() error { return f.Conn().Script(statements.Clear) })
		if err == nil || engine.OutOfRoom(err) || f.Lost() {
			return err
		}
		if err := f.Conn().Script("DROP TABLE " + table); err != nil {
			return err
		}
	}
	return f.Conn().Script(statements.Create)
}

func (f *Index) buildSearch(ctx context.Context) error {
	for range BuildAtOpen / buildChunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := f.Step(f.BuildStep)
		if err != nil || !more {
			return err
		}
	}
	f.Logger.Info("building the full-text index; search is off until it is done")
	f.Building = true
	return nil
}

// BuildStep enters the next events into the index.
func (f *Index) BuildStep() (more bool, err error) {
	last, n := f.UpTo, 0
	err = f.Conn().Each(sqlSearchable, []engine.Value{last, int64(buildChunk)}, func(row engine.Row) error {
		n++
		last = row.Int(0)
		ev, err := column.Event(row.Blob(1))
		if err != nil || row[3] == engine.Value(int64(0)) {
			return nil // it is rotten, and not found by words
		}
		class := gate.Class(row[2].(int64))
		if text := Text(class, ev); text != "" {
			f.changes = append(f.changes, indexChange{seq: last, class: class, text: text})
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if n < buildChunk {
		last = searchComplete
	}
	if err := f.SetMeta(metaSearch, last); err != nil {
		return false, err
	}
	f.After(func() {
		f.UpTo = last
		f.On.Store(last == searchComplete)
	})
	return last != searchComplete, nil
}

// Text is what of an event can be found by words: "" for nothing.
// Ciphertext, lists and reactions are left out.
func Text(class gate.Class, ev *nostr.Event) string {
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

// A text leaves the index in one to four milliseconds. purgeChunk of them are
// taken out at a time when nobody waits, and one after each batch when somebody
// does; when the store closes, or somebody needs the room, as many as purgeTime
// allows.
const (
	PurgeChunk = 8
	purgeTime  = time.Second
)

// Purge takes out the next texts and reports whether it did anything.
func (f *Index) Purge() bool {
	if !f.Purging {
		return false
	}
	limit := PurgeChunk
	if f.Waiting() > 0 {
		limit = 1
	}
	more, err := f.Step(func() (bool, error) { return f.PurgeStep(limit) })
	switch {
	case err == nil:
		f.Purging = more
	case engine.OutOfRoom(err):
		f.Purging = false // until something else is taken out, or the next start
	default:
		if _, err = f.Step(func() (bool, error) { return false, f.searchFailed(err) }); err != nil {
			f.Purging = false
		}
	}
	return err == nil
}

// PurgeStep takes up to limit texts out of the full-text index and reports
// whether there may be more.
func (f *Index) PurgeStep(limit int) (more bool, err error) {
	n := 0
	err = f.Conn().Each(sqlGone, []engine.Value{int64(limit)}, func(row engine.Row) error {
		n++
		// First this, so that a full database has room for what the index
		// writes.
		if _, err := f.Exec(sqlWasPurged, row[0]); err != nil {
			return err
		}
		remove := StatementsOf(Table(gate.Class(row[1].(int64)))).remove
		return f.Do(remove, row[0], row[2])
	})
	return n == limit, err
}

// PurgeNow takes out what it can in purgeTime.
func (f *Index) PurgeNow() {
	for end := time.Now().Add(purgeTime); f.Purging && time.Now().Before(end); {
		if !f.Purge() {
			return
		}
	}
}
