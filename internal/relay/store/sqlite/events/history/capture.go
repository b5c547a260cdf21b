package history

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/record"
)

// View is one agent's memory at one instant. It is valid within the function
// that Capture calls.
type View struct {
	c       *engine.Conn
	reader  *query.Reader
	scope   gate.Scope
	number  int64  // of the agent; 0 when no event is by it or names it
	agent   []byte // 32
	at      int64  // arrived up to this; all when MaxInt64
	now     int64  // by which events have expired
	since   int64
	entries map[store.Part][]entryAt
}

// entryAt names a row: a seq of events, or the negative of one of history.
type entryAt int64

// Capture calls fn with the agent's memory at one instant: everything fn reads
// is of one read transaction, which holds no client up. It needs the operator's
// scope. The error is fn's; ErrNotCovered when history has been pruned since
// At; ErrFilter when Agent is no pubkey.
func (h *Reader) Capture(ctx context.Context, scope gate.Scope, q store.CaptureQuery, fn func(store.View) error) error {
	agent, ok := column.Hex32(q.Agent)
	switch {
	case !scope.All():
		return fmt.Errorf("%w: only the operator captures memory", store.ErrFilter)
	case !ok:
		return fmt.Errorf("%w: the agent is no pubkey", store.ErrFilter)
	}
	return h.Reader.DB.Whole(ctx, func(ctx context.Context, c *engine.Conn) error {
		v := &View{c: c, reader: h.Reader, scope: scope, agent: agent, at: math.MaxInt64, now: h.Reader.Clock().Unix(), entries: map[store.Part][]entryAt{}}
		var err error
		if v.number, err = c.Number(`SELECT num FROM pubkeys WHERE key = ?`, agent); err != nil {
			return err
		}
		if v.since, err = v.historySince(ctx, h.Options()); err != nil {
			return err
		}
		if q.At != nil {
			if v.at = *q.At; v.at < v.since {
				return fmt.Errorf("%w: it covers times from %s on", store.ErrNotCovered, time.Unix(v.since, 0).UTC().Format(time.RFC3339))
			}
			v.now = v.at
		}
		if err := v.list(ctx, q.At != nil); err != nil {
			return err
		}
		return fn(v)
	})
}

// HistorySince is the Unix time from which on nothing that arrived and was
// superseded was pruned by the limits of history, 0 when nothing was.
func (v *View) HistorySince() int64 { return v.since }

// Count is the number of events of a part.
func (v *View) Count(p store.Part) int { return len(v.entries[p]) }

// Each gives fn the stored JSON of every event of a part, in no certain order;
// fn may keep it. An error of fn ends it, and so does a rotten event: a capture
// without it would not be the memory.
func (v *View) Each(ctx context.Context, p store.Part, fn func(json []byte) error) error {
	for _, at := range v.entries[p] {
		table, from, seq := "events", query.FromEvents, int64(at)
		if at < 0 {
			table, from, seq = "history", query.FromHistory, -int64(at)
		}
		text := "SELECT " + query.Columns(v.scope, nostr.Filter{}, from) + " FROM " + table + " AS e WHERE e.seq = ?"
		err := v.c.Query(ctx, text, []engine.Value{seq}, func(row engine.Row) error {
			var e query.Entry
			if err := e.Scan(row); err != nil {
				return err
			}
			sound, damaged, err := v.reader.Sift(v.c, v.scope, &e, from)
			if err != nil || !sound {
				return query.Lacking(damaged, true, err)
			}
			return fn(e.JSON)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	sqlCaptureOwn = `SELECT e.seq FROM events AS e WHERE e.author = ?1 AND e.kind = ?2 AND e.arrived_at <= ?3
		AND (e.expires_at IS NULL OR e.expires_at > ?4)`
	// Versions of one address come together, newest first.
	sqlCaptureEngrams = `SELECT kind, d, created_at, id, seq, pubkey, arrived_at FROM events
			WHERE author = ?1 AND kind = 30174 AND (expires_at IS NULL OR expires_at > ?3)
		UNION ALL SELECT kind, d, created_at, id, -seq, pubkey, arrived_at FROM history
			WHERE pubkey = ?2 AND kind = 30174 AND (expires_at IS NULL OR expires_at > ?3)
		ORDER BY 1, 6, 2, 3 DESC, 4`
	sqlCaptureContracts = `SELECT kind, d, created_at, id, seq, pubkey, arrived_at FROM events
			WHERE seq IN (SELECT seq FROM events WHERE author = ?1 AND kind IN (30090, 30091)
				UNION SELECT seq FROM tags WHERE name = 'p' AND value = ?1 AND kind IN (30090, 30091))
			AND (expires_at IS NULL OR expires_at > ?3)
		UNION ALL SELECT kind, d, created_at, id, -seq, pubkey, arrived_at FROM history
			WHERE kind IN (30090, 30091) AND (pubkey = ?2 OR readers = ?2) AND (expires_at IS NULL OR expires_at > ?3)
		ORDER BY 1, 6, 2, 3 DESC, 4`
)

// list finds out what belongs to which part.
func (v *View) list(ctx context.Context, rebuild bool) error {
	if err := v.divide(ctx, sqlCaptureEngrams, store.Heads, rebuild); err != nil {
		return err
	}
	if err := v.divide(ctx, sqlCaptureContracts, store.Contracts, rebuild); err != nil {
		return err
	}
	for _, own := range []struct {
		part store.Part
		kind int
	}{{store.Deletions, record.KindDeletion}, {store.Deletions, record.KindVanish}, {store.Relays, kindRelays}} {
		args := []engine.Value{v.number, int64(own.kind), v.at, v.now}
		err := v.c.Query(ctx, sqlCaptureOwn, args, func(row engine.Row) error {
			v.entries[own.part] = append(v.entries[own.part], entryAt(row[0].(int64)))
			return nil
		})
		if err != nil {
			return err
		}
	}
	return v.requests(ctx)
}

// sqlCaptureRequests is by which requests others withdrew what is captured of
// contract memory.
const sqlCaptureRequests = `SELECT x.contract, x.request FROM history AS h JOIN contract_entries AS x ON x.seq = h.seq
		WHERE h.kind = 30090 AND h.readers = ?1 AND h.pubkey <> ?1 AND h.arrived_at <= ?2 AND x.request IS NOT NULL
	UNION SELECT x.contract, x.request FROM history AS h JOIN contract_moves AS x ON x.seq = h.seq
		WHERE h.kind = 30091 AND h.readers = ?1 AND h.pubkey <> ?1 AND h.arrived_at <= ?2 AND x.request IS NOT NULL`

const sqlRequestSeq = `SELECT seq FROM events WHERE id = ? AND arrived_at <= ?`

// requests adds others' deletion requests by which contract memory of the agent's
// contracts was withdrawn, so that it is withdrawn where the capture is restored.
// A request that names anything else besides stays its author's.
func (v *View) requests(ctx context.Context) error {
	seen := map[int64]bool{}
	return v.c.Query(ctx, sqlCaptureRequests, []engine.Value{v.agent, v.at}, func(row engine.Row) error {
		request := row.Blob(1)
		json, err := query.Withdrawal(v.c, row.Text(0), request)
		if err != nil || json == nil {
			return err
		}
		seq, err := v.c.Number(sqlRequestSeq, request, v.at)
		if seq != 0 && !seen[seq] {
			seen[seq] = true
			v.entries[store.Deletions] = append(v.entries[store.Deletions], entryAt(seq))
		}
		return err
	})
}

// divide sorts versions into those that are heads and those that are history.
// When an instant is rebuilt, the newest version that had arrived by then is
// the head of an address that has one now.
func (v *View) divide(ctx context.Context, text string, heads store.Part, rebuild bool) error {
	var address versionsOf
	finish := func() {
		for i, e := range address.seqs {
			if isHead := e > 0; !rebuild && isHead || rebuild && address.living && i == 0 {
				v.entries[heads] = append(v.entries[heads], e)
			} else {
				v.entries[store.Versions] = append(v.entries[store.Versions], e)
			}
		}
	}
	err := v.c.Query(ctx, text, []engine.Value{v.number, v.agent, v.now}, func(row engine.Row) error {
		if !address.is(row) {
			finish()
			address.begin(row)
		}
		e := entryAt(row[4].(int64))
		address.living = address.living || e > 0
		if row[6].(int64) <= v.at {
			address.seqs = append(address.seqs, e)
		}
		return nil
	})
	finish()
	return err
}

// versionsOf collects the rows of one address, newest first.
type versionsOf struct {
	kind   int64
	author string
	d      engine.Value
	living bool // it has a head now
	seqs   []entryAt
}

func (a *versionsOf) is(row engine.Row) bool {
	return a.kind == row[0].(int64) && a.author == string(row[5].([]byte)) && record.SameKey(a.d, row[1])
}

func (a *versionsOf) begin(row engine.Row) {
	*a = versionsOf{kind: row[0].(int64), author: string(row[5].([]byte)), d: row[1], seqs: a.seqs[:0]}
}

const sqlFullAddresses = `SELECT max(oldest) FROM (SELECT min(arrived_at) AS oldest FROM history
	WHERE pubkey = ?1 AND kind = 30174 GROUP BY d HAVING count(*) >= ?2)`

// historySince is when history began to be complete, as far as its limits tell:
// what was superseded days ago is gone, and so is what an address with as many
// versions as are kept had before its oldest.
func (v *View) historySince(ctx context.Context, l *store.Live) (int64, error) {
	if l.Versions < 0 {
		return v.now, nil
	}
	since := int64(0)
	if l.Days >= 0 {
		since = max(0, v.now-int64(l.Days)*record.SecondsPerDay)
	}
	err := v.c.Query(ctx, sqlFullAddresses, []engine.Value{v.agent, int64(l.Versions)}, func(row engine.Row) error {
		if oldest, ok := row[0].(int64); ok {
			since = max(since, oldest)
		}
		return nil
	})
	return since, err
}

const kindRelays = nostr.KindRelayListMetadata
