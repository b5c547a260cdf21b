package contracts

import (
	"context"
	"encoding/hex"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
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

// Check reports what is wrong with the tables of contract memory.
func Check(ctx context.Context, c *engine.Conn, report *store.Report) error {
	k := contractCheck{ctx, c, report}
	for _, part := range []func() error{k.states, k.contracts, k.threads, k.order} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

type contractCheck struct {
	ctx    context.Context
	c      *engine.Conn
	report *store.Report
}

// contracts lists what is not what an id means, and states that do not follow:
// no faults, but what an operator may be asked.
func (k contractCheck) contracts() error {
	most := []engine.Value{int64(store.MostProblems)}
	err := k.c.Query(k.ctx, sqlDisplaced, most, func(v []engine.Value) error {
		contract, _ := v[0].(string)
		k.report.Displaced = append(k.report.Displaced, store.Displaced{Contract: contract, Poster: column.HexOf(v[1])})
		return nil
	})
	if err != nil {
		return err
	}
	for text, list := range map[string]*[]store.Astray{sqlAllAstray: &k.report.Astray, sqlAllVain: &k.report.Vain} {
		err := k.c.Query(k.ctx, text, most, func(v []engine.Value) error {
			contract, _ := v[0].(string)
			*list = append(*list, store.Astray{Contract: contract, EventID: column.HexOf(v[1])})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// states looks for contract states that cannot be.
func (k contractCheck) states() error {
	n := 0
	err := k.c.Query(k.ctx, `SELECT a, b, poster FROM contract_states`, nil, func(v []engine.Value) error {
		a, b, poster := column.HexOf(v[0]), column.HexOf(v[1]), column.HexOf(v[2])
		if len(a) != hex.EncodedLen(32) || len(b) != len(a) || a > b || poster != a && poster != b {
			n++
		}
		return nil
	})
	if n > 0 {
		k.report.Found("states", store.AdviceRestore, "%d contract states name parties that cannot be", n)
	}
	return err
}

// order looks for numbers of threads that were given twice or not at all.
func (k contractCheck) order() error {
	const all = `SELECT thread, n FROM contract_entries WHERE form < 2
		UNION ALL SELECT thread, n FROM contract_moves UNION ALL SELECT thread, n FROM contract_gaps`
	twice, err := k.c.Number(`SELECT count(*) FROM (SELECT 1 FROM (` + all + `) GROUP BY thread, n HAVING count(*) > 1)`)
	if err == nil && twice > 0 {
		k.report.Found("order", store.AdviceRestore, "%d numbers of contract threads were given twice", twice)
	}
	if err != nil {
		return err
	}
	beyond, err := k.c.Number(`SELECT count(*) FROM (` + all + `) AS a LEFT JOIN contract_numbers AS c ON c.thread = a.thread
		WHERE c.last IS NULL OR a.n < 1 OR a.n > c.last`)
	if err == nil && beyond > 0 {
		k.report.Found("order", store.AdviceRestore, "%d entries and states of contracts have a number that was not given yet", beyond)
	}
	if err != nil {
		return err
	}
	unplaced, err := k.c.Number(`SELECT count(*) FROM contract_moves AS m WHERE NOT EXISTS (SELECT 1 FROM events WHERE seq = m.seq)
		AND NOT EXISTS (SELECT 1 FROM history WHERE seq = m.seq)`)
	if err == nil && unplaced > 0 {
		k.report.Found("order", store.AdviceRestore, "%d states of contracts have a number, and their events are not there", unplaced)
	}
	return err
}

// threads compares the counters with the threads.
func (k contractCheck) threads() error {
	const counted = `SELECT contract, author, other, form, type, withdrawn, n, published FROM contract_counts`
	const there = `SELECT contract, author, other, form, type, withdrawn <> 0, count(*), count(seq) FROM contract_entries
		GROUP BY contract, author, other, form, type, withdrawn <> 0`
	n, err := k.c.Number(`SELECT (SELECT count(*) FROM (` + counted + ` EXCEPT ` + there + `)) + (SELECT count(*) FROM (` + there + ` EXCEPT ` + counted + `))`)
	if err == nil && n > 0 {
		k.report.Found("threads", store.AdviceRebuild, "%d counters of contract threads are not what the threads have", n)
	}
	if err != nil {
		return err
	}
	const listed = `SELECT contract, a, b FROM contract_talks`
	const talks = `SELECT contract, min(author, other), max(author, other) FROM contract_entries AS e WHERE form < 2
		AND NOT EXISTS (SELECT 1 FROM contract_states AS s WHERE s.contract = e.contract)`
	n, err = k.c.Number(`SELECT (SELECT count(*) FROM (` + listed + ` EXCEPT ` + talks + `)) + (SELECT count(*) FROM (` + talks + ` EXCEPT ` + listed + `))`)
	if err == nil && n > 0 {
		k.report.Found("threads", store.AdviceRebuild, "%d contracts of which only entries are known are not listed as they should be", n)
	}
	return err
}
