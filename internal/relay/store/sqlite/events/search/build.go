package search

import (
	"context"
	"fmt"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
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
	if f.UpTo, err = f.Conn().Number(`SELECT value FROM meta WHERE key = ?`, metaSearch); err != nil {
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
	err = f.Conn().Each(sqlSearchable, []engine.Value{last, int64(buildChunk)}, func(row []engine.Value) error {
		ev, err := column.Event(row[1].([]byte))
		if err != nil {
			return err
		}
		n++
		last = row[0].(int64)
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
