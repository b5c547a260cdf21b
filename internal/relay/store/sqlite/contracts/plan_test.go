package contracts_test

import (
	"context"
	"strings"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/contracts"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestThreadPlans wants every question about threads and contracts to be
// answered from an index, without a scan of a table and without sorting.
func TestThreadPlans(t *testing.T) {
	db := opened(t)
	a, b := strings.Repeat("1", 64), strings.Repeat("2", 64)
	thread := store.Thread{Contract: "c", Poster: a, Worker: b, Party: true, Reader: a, Type: "note"}
	for name, statement := range contracts.Statements(thread) {
		plan, err := planOf(t.Context(), db, statement.Text, statement.Args)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, line := range plan {
			if line == "SCAN p" { // the places of one page
				continue
			}
			if strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "CONSTANT") && !statement.Scans || strings.Contains(line, "TEMP B-TREE") && !statement.Sorts {
				t.Errorf("%s: %s\n%s\n%s", name, line, strings.Join(plan, "\n"), statement.Text)
			}
		}
	}
}

// opened is a new database, open for reading.
func opened(t *testing.T) *engine.DB {
	t.Helper()
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db := engine.New(engine.Options{Path: o.Path, ReadOnly: true})
	if err := db.Open(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// planOf is how SQLite answers a statement.
func planOf(ctx context.Context, db *engine.DB, text string, args []engine.Value) (lines []string, err error) {
	err = db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, "EXPLAIN QUERY PLAN "+text, args, func(v engine.Row) error {
			line, _ := v[3].(string)
			lines = append(lines, line)
			return nil
		})
	})
	return lines, err
}
