package events

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"reflect"

	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

// Check reads the whole database in one read transaction and reports what is
// wrong with it: SQLite's integrity check, which compares tables and indexes;
// each event's columns, gate class and tag rows against its JSON, and its id
// against its content; heads against history; contract states; the counters and
// numbers of threads, the counters of authors; the numbers of keys. It changes
// nothing. The error is for a check that could not be made. The table of the
// options says which classes are right.
func (s *Store) Check(ctx context.Context) (store.Report, error) {
	var k checker
	err := s.db.Whole(ctx, func(ctx context.Context, c *engine.Conn) error {
		k = checker{ctx: ctx, c: c, table: s.table.Load(), now: s.clock().Unix(), classAdvice: adviceRebuild}
		under, err := c.Meta(metaGate)
		if err != nil {
			return err
		}
		if under != k.table.Fingerprint() {
			k.classAdvice = adviceClass
		}
		for _, part := range []func() error{k.integrity, k.events, k.history, k.tags, k.heads, k.states, k.contracts, k.names, k.threads, k.order, k.numbers, k.usage} {
			if err := part(); err != nil {
				return err
			}
		}
		k.report.Above, err = above(ctx, c, s.live.Load().Quota)
		return err
	})
	return k.report, err
}

// checker is one run of Check.
type checker struct {
	ctx     context.Context
	c       *engine.Conn
	table   *gate.Table
	now     int64
	report  store.Report
	tagRows int64 // that the events of the table should have
	// classAdvice is for events in a wrong class. The next start classes anew
	// what was stored under other rules, and under these nothing.
	classAdvice string
}

// maxProblems bounds the report; a database with more is damaged all over.
const maxProblems = 100

// What the operator can do.
const (
	adviceRestore = "stop engramd, keep the damaged file, restore the last backup and import what is newer from an export"
	adviceClass   = "start engramd serve with the gate rules that are meant to be in force: they are not those that events were stored under, and it classes them anew"
	adviceRebuild = "export with --history, import into a new data folder, and keep the old one until that is checked"
)

func (k *checker) problem(check, advice, detail string, args ...any) {
	if len(k.report.Problems) < maxProblems {
		k.report.Problems = append(k.report.Problems, store.Problem{Check: check, Detail: fmt.Sprintf(detail, args...), Advice: advice})
	}
}

func (k *checker) integrity() error {
	found, err := k.c.Integrity(k.ctx)
	for _, f := range found {
		k.problem("integrity", adviceRestore, "%s", f)
	}
	return err
}

func (k *checker) events() error {
	const tagRow = `SELECT 1 FROM tags WHERE name = ? AND created_at = ? AND seq = ? AND kind = ? AND value = `
	return k.c.Query(k.ctx, `SELECT seq, id, pubkey, kind, created_at, class, d, `+readersInFull+`, expires_at, json,
		(SELECT key FROM pubkeys WHERE num = author), typeof(readers) = 'integer' FROM events`, nil,
		func(v []engine.Value) error {
			k.report.Events++
			r := k.row("events", v)
			if r == nil {
				return nil
			}
			if number, _ := v[10].([]byte); !bytes.Equal(number, r.pubkey) {
				k.problem("keys", adviceRebuild, "event %d: its author's number is that of another key, or of none", v[0])
			}
			if one := len(r.readers) == len(r.pubkey); v[5] == engine.Value(int64(r.class)) && one != (v[11] == engine.Value(int64(1))) {
				k.problem("class", adviceRebuild, "event %d: column readers is not as it should be", v[0])
			}
			for _, t := range r.tags {
				k.tagRows++
				text := tagRow + "?"
				if _, numbered := t.numberedKey(); numbered {
					text = tagRow + numOf
				}
				has, err := k.c.Exists(text, t.name, r.created, v[0], int64(r.ev.Kind), t.value)
				if err != nil {
					return err
				}
				if !has {
					k.problem("tags", adviceRebuild, "event %d: its tag %s is not in the tag index", v[0], t.name)
				}
			}
			return nil
		})
}

func (k *checker) history() error {
	return k.c.Query(k.ctx, `SELECT seq, id, pubkey, kind, created_at, class, d, readers, expires_at, json FROM history`, nil,
		func(v []engine.Value) error {
			k.report.History++
			k.row("history", v)
			return nil
		})
}

// row compares one row with what its JSON says, and returns the latter if it
// can be read.
func (k *checker) row(table string, v []engine.Value) *record {
	seq := v[0]
	raw, _ := v[9].([]byte)
	ev, err := parsed(raw)
	if err != nil {
		k.problem("json", adviceRestore, "%s %d: %v", table, seq, err)
		return nil
	}
	r, err := newRecord(ev, k.table.Reclassify(ev, storedClass(v[5])))
	if err != nil || !ev.CheckID() || string(r.json) != string(raw) {
		k.problem("json", adviceRestore, "%s %d: the stored JSON is not that of an event with its id", table, seq)
		return nil
	}
	seen := map[string][2]engine.Value{
		"id": {v[1], r.id}, "pubkey": {v[2], r.pubkey}, "kind": {v[3], int64(ev.Kind)}, "created_at": {v[4], r.created},
		"d": {v[6], r.d}, "expires_at": {v[8], timeOrNil(r.expires)},
	}
	for column, pair := range seen {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			k.problem("json", adviceRebuild, "%s %d: column %s differs from the stored JSON", table, seq, column)
		}
	}
	if v[5] != engine.Value(int64(r.class)) || !reflect.DeepEqual(v[7], bytesOrNil(r.readers)) {
		k.problem("class", k.classAdvice, "%s %d: stored under gate class %v, is %d (%s) under the rules in force",
			table, seq, v[5], r.class, r.class)
	}
	return r
}

// storedClass reads the column class, Open for what is none.
func storedClass(v engine.Value) gate.Class {
	n, _ := v.(int64)
	return gate.Class(n)
}

// tags looks for tag rows that no event has.
func (k *checker) tags() error {
	n, err := k.c.Number(`SELECT count(*) FROM tags`)
	if err == nil && n > k.tagRows {
		k.problem("tags", adviceRebuild, "the tag index has %d rows that no event accounts for", n-k.tagRows)
	}
	return err
}

// heads looks for addresses whose head is not the newest version known. One
// that came after it had been withdrawn is no head and takes no other's place.
func (k *checker) heads() error {
	err := k.c.Query(k.ctx, `SELECT e.seq, h.seq FROM history h JOIN events e
		ON e.kind = h.kind AND e.pubkey = h.pubkey AND e.d = h.d AND e.d IS NOT NULL
		WHERE (h.created_at > e.created_at OR h.created_at = e.created_at AND h.id < e.id)
		AND (h.expires_at IS NULL OR h.expires_at > ?)
		AND NOT EXISTS (SELECT 1 FROM contract_entries AS w WHERE w.seq = h.seq AND w.withdrawn > 0)
		AND NOT EXISTS (SELECT 1 FROM contract_moves AS w WHERE w.seq = h.seq AND w.withdrawn > 0)`, []engine.Value{k.now}, func(v []engine.Value) error {
		k.problem("heads", adviceRebuild, "event %d is a head, but version %d in history is newer", v[0], v[1])
		return nil
	})
	if err != nil {
		return err
	}
	return k.c.Query(k.ctx, `SELECT h.seq FROM history h JOIN events e ON e.id = h.id`, nil, func(v []engine.Value) error {
		k.problem("heads", adviceRebuild, "version %d in history is a head or regular event as well", v[0])
		return nil
	})
}

// numbers looks for keys that nothing names and nothing is going to forget.
func (k *checker) numbers() error {
	n, err := k.c.Number(`SELECT count(*) FROM pubkeys AS p WHERE NOT EXISTS (SELECT 1 FROM events WHERE author = p.num)
		AND NOT EXISTS (SELECT 1 FROM tags WHERE name = 'p' AND value = p.num)
		AND NOT EXISTS (SELECT 1 FROM pubkeys_gone WHERE num = p.num)`)
	if err == nil && n > 0 {
		k.problem("keys", adviceRebuild, "%d keys are kept that no event names", n)
	}
	return err
}

// states looks for contract states that cannot be.
func (k *checker) states() error {
	n := 0
	err := k.c.Query(k.ctx, `SELECT a, b, poster FROM contract_states`, nil, func(v []engine.Value) error {
		a, b, poster := hexOf(v[0]), hexOf(v[1]), hexOf(v[2])
		if len(a) != hex.EncodedLen(32) || len(b) != len(a) || a > b || poster != a && poster != b {
			n++
		}
		return nil
	})
	if n > 0 {
		k.problem("states", adviceRestore, "%d contract states name parties that cannot be", n)
	}
	return err
}

// order looks for numbers of threads that were given twice or not at all.
func (k *checker) order() error {
	const all = `SELECT thread, n FROM contract_entries WHERE form < 2
		UNION ALL SELECT thread, n FROM contract_moves UNION ALL SELECT thread, n FROM contract_gaps`
	twice, err := k.c.Number(`SELECT count(*) FROM (SELECT 1 FROM (` + all + `) GROUP BY thread, n HAVING count(*) > 1)`)
	if err == nil && twice > 0 {
		k.problem("order", adviceRestore, "%d numbers of contract threads were given twice", twice)
	}
	if err != nil {
		return err
	}
	beyond, err := k.c.Number(`SELECT count(*) FROM (` + all + `) AS a LEFT JOIN contract_numbers AS c ON c.thread = a.thread
		WHERE c.last IS NULL OR a.n < 1 OR a.n > c.last`)
	if err == nil && beyond > 0 {
		k.problem("order", adviceRestore, "%d entries and states of contracts have a number that was not given yet", beyond)
	}
	if err != nil {
		return err
	}
	unplaced, err := k.c.Number(`SELECT count(*) FROM contract_moves AS m WHERE NOT EXISTS (SELECT 1 FROM events WHERE seq = m.seq)
		AND NOT EXISTS (SELECT 1 FROM history WHERE seq = m.seq)`)
	if err == nil && unplaced > 0 {
		k.problem("order", adviceRestore, "%d states of contracts have a number, and their events are not there", unplaced)
	}
	return err
}

// usage compares what authors keep with what is counted.
func (k *checker) usage() error {
	const real = `SELECT author, sum(n), sum(size) FROM (
		SELECT (SELECT key FROM pubkeys WHERE num = events.author) AS author, count(*) AS n, sum(length(json)) AS size
			FROM events GROUP BY events.author
		UNION ALL SELECT pubkey, count(*), sum(length(json)) FROM history GROUP BY pubkey) GROUP BY author`
	const kept = `SELECT author, events, bytes FROM author_usage`
	n, err := k.c.Number(`SELECT (SELECT count(*) FROM (` + real + ` EXCEPT ` + kept + `)) + (SELECT count(*) FROM (` + kept + ` EXCEPT ` + real + `))`)
	if err == nil && n > 0 {
		k.problem("usage", adviceRebuild, "what authors keep differs from what is counted for quotas, in %d rows", n)
	}
	return err
}
