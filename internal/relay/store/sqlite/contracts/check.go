package contracts

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlDisplaced = `SELECT s.contract, s.poster FROM contract_states AS s JOIN contract_owners AS o ON o.contract = s.contract
		WHERE s.poster <> o.owner GROUP BY s.contract, s.poster ORDER BY s.contract, min(s.n) LIMIT ?`
	sqlAllAstray = `SELECT contract, id FROM contract_steps AS p WHERE step IS NULL AND NOT EXISTS
		(SELECT 1 FROM contract_states WHERE contract = p.contract AND event = p.id) ORDER BY contract, created_at LIMIT ?`
	sqlAllVain = `SELECT contract, id FROM contract_verdicts AS v WHERE NOT EXISTS
		(SELECT 1 FROM contract_states WHERE contract = v.contract AND event = v.id) ORDER BY contract, created_at LIMIT ?`
)

// Check reports what is wrong with the tables of contract memory, and lists what
// is not what an id means, and states that do not follow: no faults, but what an
// operator may be asked.
func Check(ctx context.Context, c *engine.Conn, report *store.Report) (err error) {
	for _, of := range counts {
		if err := c.Counted(report, of.check, of.advice, of.detail, of.text); err != nil {
			return err
		}
	}
	report.Displaced, err = engine.List(ctx, c, func(v engine.Row) (store.Displaced, error) {
		return store.Displaced{Contract: v.Text(0), Poster: v.Hex(1)}, nil
	}, sqlDisplaced, int64(store.MostProblems))
	for text, list := range map[string]*[]store.Astray{sqlAllAstray: &report.Astray, sqlAllVain: &report.Vain} {
		if err != nil {
			return err
		}
		*list, err = engine.List(ctx, c, func(v engine.Row) (store.Astray, error) {
			return store.Astray{Contract: v.Text(0), EventID: v.Hex(1)}, nil
		}, text, int64(store.MostProblems))
	}
	return err
}

const (
	sqlNumbered = `SELECT thread, n FROM contract_entries WHERE form < 2
		UNION ALL SELECT thread, n FROM contract_moves UNION ALL SELECT thread, n FROM contract_gaps`
	sqlCounted = `SELECT contract, author, other, form, type, withdrawn, n, published FROM contract_counts`
	sqlThere   = `SELECT contract, author, other, form, type, withdrawn <> 0, count(*), count(seq) FROM contract_entries
		GROUP BY contract, author, other, form, type, withdrawn <> 0`
	sqlListed    = `SELECT contract, a, b FROM contract_talks`
	sqlTalksOnly = `SELECT contract, min(author, other), max(author, other) FROM contract_entries AS e WHERE form < 2
		AND NOT EXISTS (SELECT 1 FROM contract_states AS s WHERE s.contract = e.contract)`
)

// counts are of what there must be none: contract states that cannot be, counters
// that are not what the threads have, numbers that were given twice or not at all.
var counts = []struct{ check, advice, detail, text string }{
	{"states", store.AdviceRestore, "%d contract states name parties that cannot be",
		`SELECT count(*) FROM contract_states WHERE typeof(a) <> 'blob' OR typeof(b) <> 'blob' OR length(a) <> 32
		OR length(b) <> 32 OR a > b OR poster NOT IN (a, b)`},
	{"threads", store.AdviceRebuild, "%d counters of contract threads are not what the threads have", differences(sqlCounted, sqlThere)},
	{"threads", store.AdviceRebuild, "%d contracts of which only entries are known are not listed as they should be", differences(sqlListed, sqlTalksOnly)},
	{"order", store.AdviceRestore, "%d numbers of contract threads were given twice",
		`SELECT count(*) FROM (SELECT 1 FROM (` + sqlNumbered + `) GROUP BY thread, n HAVING count(*) > 1)`},
	{"order", store.AdviceRestore, "%d entries and states of contracts have a number that was not given yet",
		`SELECT count(*) FROM (` + sqlNumbered + `) AS a LEFT JOIN contract_numbers AS c ON c.thread = a.thread
		WHERE c.last IS NULL OR a.n < 1 OR a.n > c.last`},
	{"order", store.AdviceRestore, "%d states of contracts have a number, and their events are not there",
		`SELECT count(*) FROM contract_moves AS m WHERE NOT EXISTS (SELECT 1 FROM events WHERE seq = m.seq)
		AND NOT EXISTS (SELECT 1 FROM history WHERE seq = m.seq)`},
}

// differences counts the rows that one of two queries has and the other lacks.
func differences(x, y string) string {
	return `SELECT (SELECT count(*) FROM (` + x + ` EXCEPT ` + y + `)) + (SELECT count(*) FROM (` + y + ` EXCEPT ` + x + `))`
}
