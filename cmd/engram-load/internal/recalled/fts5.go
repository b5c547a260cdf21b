package recalled

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mattn/go-sqlite3"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/internal/memory/recall"
)

// FTS5 ranks by SQLite's full text search with its porter stems: any of the words,
// by bm25().
func FTS5() measure.Config {
	return measure.Config{Name: "SQLite FTS5", Make: func(m *measure.Memory) (measure.Ranker, error) {
		conn, err := (&sqlite3.SQLiteDriver{}).Open(":memory:")
		if err != nil {
			return nil, err
		}
		db := conn.(*sqlite3.SQLiteConn) // in memory alone: it ends with the process
		if _, err := db.Exec("CREATE VIRTUAL TABLE m USING fts5(slug UNINDEXED, text, tokenize = 'porter unicode61')", nil); err != nil {
			return nil, fmt.Errorf("full text search of SQLite (build with the tag sqlite_fts5): %w", err)
		}
		for i := range m.Documents {
			d := &m.Documents[i]
			if _, err := db.Exec("INSERT INTO m VALUES (?, ?)", []driver.Value{d.Slug, text(d)}); err != nil {
				return nil, err
			}
		}
		stmt, err := db.Prepare("SELECT slug FROM m WHERE m MATCH ? ORDER BY bm25(m), rowid LIMIT 100")
		if err != nil {
			return nil, err
		}
		return func(q recall.Query) []measure.Hit { return measure.Hits(match(stmt, q.Text)) }, nil
	}}
}

// match asks for any of the words. What SQLite cannot answer has no hits.
func match(stmt driver.Stmt, question string) []string {
	var any []string
	for _, w := range strings.FieldsFunc(question, func(r rune) bool { return strings.ContainsRune(" \t\r\n\x00", r) }) {
		any = append(any, `"`+strings.ReplaceAll(w, `"`, `""`)+`"`)
	}
	rows, err := stmt.Query([]driver.Value{strings.Join(any, " OR ")}) //nolint:staticcheck // the driver is asked without database/sql
	if err != nil {
		return nil
	}
	defer rows.Close()
	var slugs []string
	row := make([]driver.Value, 1)
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) || err != nil {
			return slugs
		}
		slug, _ := row[0].(string)
		slugs = append(slugs, slug)
	}
}
