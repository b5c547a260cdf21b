//go:build nightly && linux

package events_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"engramd/migrations"
)

// beforeOrder is the last version whose threads have no order.
const beforeOrder = 17

// sqlOldEntries fills a database of that version: ten entries a thread, each
// thread a pair of keys and a contract of its own.
const sqlOldEntries = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d)
	INSERT INTO contract_entries(contract, author, other, created_at, id, form, type, entry, arrived_at, seq, data)
	SELECT format('c%%d', i / 10), unhex(format('%%064x', 2 * (i / 10) + i %% 2)), unhex(format('%%064x', 2 * (i / 10) + 1 - i %% 2)),
		1700000000 + i, unhex(format('%%064x', i)), 0, 'note', format('mem_%%012x', i), 1700000000 + i, i + 1, NULL FROM n`

// TestThreadsInLinearTime migrates ten times as many threads in about ten times
// the time of a processor.
func TestThreadsInLinearTime(t *testing.T) {
	seconds := func(entries int) float64 {
		path := filepath.Join(t.TempDir(), "engramd.db")
		all, err := migrations.All()
		if err != nil {
			t.Fatal(err)
		}
		c := database(t, path)
		run(t, c, "PRAGMA page_size=8192", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF", "BEGIN")
		for _, m := range all[:beforeOrder] {
			run(t, c, m.SQL)
		}
		run(t, c, fmt.Sprintf(sqlOldEntries, entries), fmt.Sprintf("PRAGMA application_id=%d", migrations.ApplicationID),
			fmt.Sprintf("PRAGMA user_version=%d", beforeOrder), "COMMIT")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		return migrateElsewhere(t, path, 64<<20).Processor.Seconds()
	}
	few, many := seconds(20_000), seconds(200_000)
	t.Logf("20,000 entries of 2,000 threads in %.2f s, 200,000 of 20,000 in %.2f s", few, many)
	if many > 12*few {
		t.Errorf("ten times as many take %.1f times as long", many/few)
	}
}
