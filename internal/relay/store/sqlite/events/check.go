package events

import (
	"bytes"
	"context"
	"reflect"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/record"
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
		k = checker{ctx: ctx, c: c, parts: &s.parts, table: s.o.Table, now: s.o.Clock().Unix(), classAdvice: store.AdviceRebuild}
		under, err := c.Meta(metaGate)
		if err != nil {
			return err
		}
		if under != k.table.Fingerprint() {
			k.classAdvice = adviceClass
		}
		for _, part := range []func() error{k.integrity, k.events, k.history, k.tags, k.heads, k.participants, k.numbers, k.usage} {
			err := part()
			if engine.Unreadable(err) {
				k.report.Found("unreadable", store.AdviceRebuild, "%v", err)
			} else if err != nil {
				return err
			}
		}
		k.report.Above, err = ledger.Above(ctx, c, s.live.Load().Quota)
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
	parts   *apply.Parts
	tagRows int64 // that the events of the table should have
	// classAdvice is for events in a wrong class. The next start classes anew
	// what was stored under other rules, and under these nothing.
	classAdvice string
}

// adviceClass is what the operator can do about events in a wrong class.
const adviceClass = "start engramd serve with the gate rules that are meant to be in force: they are not those that events were stored under, and it classes them anew"

// participants has what keeps tables of its own beside events check these.
func (k *checker) participants() error {
	for _, one := range k.parts.Checks {
		if err := one(k.ctx, k.c, &k.report); err != nil {
			return err
		}
	}
	return nil
}

func (k *checker) integrity() error {
	found, err := k.c.Integrity(k.ctx)
	for _, f := range found {
		k.report.Found("integrity", store.AdviceRestore, "%s", f)
	}
	return err
}

func (k *checker) events() error {
	const tagRow = `SELECT 1 FROM tags WHERE name = ? AND class IN (?, ?) AND created_at = ? AND seq = ? AND kind = ? AND value = `
	return k.c.Query(k.ctx, `SELECT seq, id, pubkey, kind, created_at, class, d, `+record.ReadersInFull+`, expires_at, json,
		(SELECT key FROM pubkeys WHERE num = author), typeof(readers) = 'integer' FROM events`, nil,
		func(v engine.Row) error {
			k.report.Events++
			r := k.row("events", v)
			if r == nil {
				return nil
			}
			if number, _ := v[10].([]byte); !bytes.Equal(number, r.Pubkey) {
				k.report.Found("keys", store.AdviceRebuild, "event %d: its author's number is that of another key, or of none", v[0])
			}
			if one := len(r.Readers) == len(r.Pubkey); v[5] == engine.Value(int64(r.Class)) && one != (v[11] == engine.Value(int64(1))) {
				k.report.Found("class", store.AdviceRebuild, "event %d: column readers is not as it should be", v[0])
			}
			for _, t := range record.Tags(r.Event.Tags, record.StoredClass(v[5])) {
				k.tagRows++
				text := tagRow + "?"
				if _, numbered := t.NumberedKey(); numbered {
					text = tagRow + record.NumOf
				}
				has, err := k.c.Exists(text, t.Name, v[5], int64(r.Class), r.Created, v[0], int64(r.Event.Kind), t.Value)
				if err != nil {
					return err
				}
				if !has {
					k.report.Found("tags", store.AdviceRebuild, "event %d: its tag %s is not in the tag index", v[0], t.Name)
				}
			}
			return nil
		})
}

func (k *checker) history() error {
	return k.c.Query(k.ctx, `SELECT seq, id, pubkey, kind, created_at, class, d, readers, expires_at, json FROM history`, nil,
		func(v engine.Row) error {
			k.report.History++
			k.row("history", v)
			return nil
		})
}

// row compares one row with what its JSON says, and returns the latter if it
// can be read.
func (k *checker) row(table string, v []engine.Value) *record.Record {
	seq := v[0]
	raw, _ := v[9].([]byte)
	ev, err := column.Event(raw)
	if err != nil {
		k.report.Found("json", store.AdviceRestore, "%s %d: %v", table, seq, err)
		return nil
	}
	r, err := record.New(ev, k.table.Reclassify(ev, record.StoredClass(v[5])))
	if err != nil || !ev.CheckID() || string(r.JSON) != string(raw) {
		k.report.Found("json", store.AdviceRestore, "%s %d: the stored JSON is not that of an event with its id", table, seq)
		return nil
	}
	seen := map[string][2]engine.Value{
		"id": {v[1], r.ID}, "pubkey": {v[2], r.Pubkey}, "kind": {v[3], int64(ev.Kind)}, "created_at": {v[4], r.Created},
		"d": {v[6], r.D}, "expires_at": {v[8], column.TimeOrNil(r.Expires)},
	}
	for column, pair := range seen {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			k.report.Found("json", store.AdviceRebuild, "%s %d: column %s differs from the stored JSON", table, seq, column)
		}
	}
	if v[5] != engine.Value(int64(r.Class)) || !reflect.DeepEqual(v[7], column.BytesOrNil(r.Readers)) {
		k.report.Found("class", k.classAdvice, "%s %d: stored under gate class %v, is %d (%s) under the rules in force",
			table, seq, v[5], r.Class, r.Class)
	}
	return r
}

// tags looks for tag rows that no event has.
func (k *checker) tags() error {
	n, err := k.c.Number(`SELECT count(*) FROM tags`)
	if err == nil && n > k.tagRows {
		k.report.Found("tags", store.AdviceRebuild, "the tag index has %d rows that no event accounts for", n-k.tagRows)
	}
	return err
}

// heads looks for addresses whose head is not the newest version known. One
// that came after it had been withdrawn is no head and takes no other's place,
// whether it stands in a thread or not.
func (k *checker) heads() error {
	err := k.c.Query(k.ctx, `SELECT e.seq, h.seq FROM history h JOIN events e
		ON e.kind = h.kind AND e.pubkey = h.pubkey AND e.d = h.d AND e.d IS NOT NULL
		WHERE (h.created_at > e.created_at OR h.created_at = e.created_at AND h.id < e.id)
		AND (h.expires_at IS NULL OR h.expires_at > ?)
		AND NOT EXISTS (SELECT 1 FROM contract_entries AS w WHERE w.seq = h.seq AND w.withdrawn > 0)
		AND NOT EXISTS (SELECT 1 FROM contract_moves AS w WHERE w.seq = h.seq AND w.withdrawn > 0)
		AND NOT EXISTS (SELECT 1 FROM deleted_ids AS w WHERE w.id = h.id AND w.pubkey = h.pubkey)`, []engine.Value{k.now}, func(v engine.Row) error {
		k.report.Found("heads", store.AdviceRebuild, "event %d is a head, but version %d in history is newer", v[0], v[1])
		return nil
	})
	if err != nil {
		return err
	}
	if err := k.c.Counted(&k.report, "heads", store.AdviceRebuild, "%d addresses have several heads",
		`SELECT count(*) FROM (SELECT 1 FROM events WHERE d IS NOT NULL GROUP BY kind, author, d HAVING count(*) > 1)`); err != nil {
		return err
	}
	return k.c.Query(k.ctx, `SELECT h.seq FROM history h JOIN events e ON e.id = h.id`, nil, func(v engine.Row) error {
		k.report.Found("heads", store.AdviceRebuild, "version %d in history is a head or regular event as well", v[0])
		return nil
	})
}

// numbers looks for keys that nothing names and nothing is going to forget.
func (k *checker) numbers() error {
	return k.c.Counted(&k.report, "keys", store.AdviceRebuild, "%d keys are kept that no event names", `SELECT count(*) FROM pubkeys AS p WHERE NOT EXISTS (SELECT 1 FROM events WHERE author = p.num)
		AND NOT EXISTS (SELECT 1 FROM tags WHERE name = 'p' AND value = p.num)
		AND NOT EXISTS (SELECT 1 FROM pubkeys_gone WHERE num = p.num)`)
}

// usage compares what authors keep with what is counted.
func (k *checker) usage() error {
	const real = `SELECT author, sum(n), sum(size) FROM (
		SELECT (SELECT key FROM pubkeys WHERE num = events.author) AS author, count(*) AS n, sum(length(json)) AS size
			FROM events GROUP BY events.author
		UNION ALL SELECT pubkey, count(*), sum(length(json)) FROM history GROUP BY pubkey) GROUP BY author`
	const kept = `SELECT author, events, bytes FROM author_usage`
	return k.c.Counted(&k.report, "usage", store.AdviceRebuild, "what authors keep differs from what is counted for quotas, in %d rows",
		`SELECT (SELECT count(*) FROM (`+real+` EXCEPT `+kept+`)) + (SELECT count(*) FROM (`+kept+` EXCEPT `+real+`))`)
}
