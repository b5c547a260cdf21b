package query

import (
	"context"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

const kindAppData = nostr.KindApplicationSpecificData

const sqlApproved = `SELECT 1 FROM events AS e INDEXED BY events_address CROSS JOIN tags AS t
	ON t.name='p' AND t.value=` + record.NumOf + ` AND t.class=e.class AND t.created_at=e.created_at AND t.seq=e.seq
	WHERE e.kind=? AND e.author=` + record.NumOf + ` AND e.d=? AND (e.expires_at IS NULL OR e.expires_at>?)`

// Approved reports whether the list of approved agents of one of the owners (kind
// 30078 with d = engramd/agents, as stored now) names the agent. All are 64
// lower-case hex. It is a yes or no for the write policy, inside the relay: nothing
// that is read from the network may come to depend on it other than through that
// policy. It is one read, with a look-up for each owner until one names the agent:
// beginning a read takes longer than a look-up does. Errors are as of Query.
func (q *Reader) Approved(ctx context.Context, owners []string, agent string) (named bool, err error) {
	if len(owners) == 0 {
		return false, nil
	}
	err = q.DB.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		named, err = Approved(c, owners, agent, q.Clock().Unix())
		return err
	})
	return named && err == nil, err
}

// Approved is Reader.Approved in a read under way, as of a time.
func Approved(c *engine.Conn, owners []string, agent string, now int64) (bool, error) {
	agentKey, ok := column.Hex32(agent)
	if !ok {
		return false, nil
	}
	for _, owner := range owners {
		ownerKey, ok := column.Hex32(owner)
		if !ok {
			continue
		}
		named, err := c.Exists(sqlApproved, agentKey, int64(kindAppData), ownerKey, gate.ApprovalD, now)
		if named || err != nil {
			return named && err == nil, err
		}
	}
	return false, nil
}

const sqlHeadExpired = `SELECT 1 FROM events AS e WHERE e.kind=? AND e.author=` + record.NumOf + ` AND e.d=? AND e.expires_at<=?`

// HeadExpired reports whether what an event would supersede has expired by the
// clock, so that it would go with all versions before it. It is a yes or no for the
// write policy, like Approved.
func (q *Reader) HeadExpired(ctx context.Context, ev *nostr.Event) (gone bool, err error) {
	r, err := record.New(ev, gate.Open)
	if err != nil || r.D == nil {
		return false, err
	}
	err = q.DB.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		gone, err = c.Exists(sqlHeadExpired, int64(ev.Kind), r.Pubkey, r.D, q.Clock().Unix())
		return err
	})
	return gone && err == nil, err
}

const sqlKnownSince = `SELECT 1 FROM pubkeys WHERE key = ? AND since < ?`

// KnownSince reports whether an event by the key (64 lower-case hex digits;
// anything else is not known) arrived here before a time, by the relay's clock
// and whatever the event says of itself. Authors of events that were stored
// before the relay took note of that count as known; a key of which nothing is
// left does not. Errors are as of Query.
func (q *Reader) KnownSince(ctx context.Context, pubkey string, before time.Time) (known bool, err error) {
	key, ok := column.Hex32(pubkey)
	if !ok {
		return false, nil
	}
	return engine.Look(ctx, q.DB, (*engine.Conn).Exists, sqlKnownSince, key, before.Unix())
}

const sqlEngramAuthors = `SELECT key FROM pubkeys WHERE EXISTS (SELECT 1 FROM events WHERE author = num AND kind = 30174) ORDER BY key`

// Agents lists the pubkeys (hex, sorted) that have engrams as heads. It needs
// the operator's scope.
func (q *Reader) Agents(ctx context.Context, scope gate.Scope) (out []string, err error) {
	if !scope.All() {
		return nil, fmt.Errorf("%w: only the operator lists agents", store.ErrFilter)
	}
	return engine.ReadList(ctx, q.DB, engine.Scan, func(v engine.Row) (string, error) { return v.Hex(0), nil }, sqlEngramAuthors)
}

// SchemaVersion is the number of the last migration that the open database has.
func (q *Reader) SchemaVersion(ctx context.Context) (version int64, err error) {
	return engine.Look(ctx, q.DB, (*engine.Conn).Number, "PRAGMA user_version")
}

var (
	sqlStateHead = `SELECT ` + column.Sound("events", "events") + `, json FROM events WHERE kind = 30091 AND author = ` + record.NumOf + ` AND d = ?`
	sqlStatePast = `SELECT ` + column.Sound("history", "history") + `, json FROM history WHERE kind = 30091 AND pubkey = ? AND d = ? ORDER BY created_at DESC LIMIT ?`
)

// How many of a poster's states of one contract are looked through, and how
// many bytes of them.
const (
	maxStateEvents = 64
	maxStateBytes  = 512 << 10
)

// ContractStates are the state events of a contract by one author, about the
// newest first. Of a great many, or of long ones, the oldest are left out.
func (q *Reader) ContractStates(ctx context.Context, contract, author string) (states [][]byte, err error) {
	who, ok := column.Hex32(author)
	if !ok {
		return nil, nil
	}
	size := 0
	err = q.DB.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		each := func(v engine.Row) error {
			json := v.Blob(1)
			if !column.Trusted(v[0], json) {
				return column.ErrDamaged
			}
			states = append(states, json)
			if size += len(json); size >= maxStateBytes {
				return engine.ErrStop
			}
			return nil
		}
		if err := c.Query(ctx, sqlStateHead, []engine.Value{who, column.Of(contract)}, each); err != nil || size >= maxStateBytes {
			return err
		}
		return c.Query(ctx, sqlStatePast, []engine.Value{who, column.Of(contract), int64(maxStateEvents)}, each)
	})
	return states, err
}

var sqlRequest = `SELECT json, ` + column.Sound("events", "events") + ` FROM events WHERE id = ? AND kind = 5`

const (
	sqlConcerned = `SELECT 1 FROM events WHERE id = ?1 AND kind IN (30090, 30091) AND d = ?2
		UNION ALL SELECT 1 FROM history WHERE id = ?1 AND kind IN (30090, 30091) AND d = ?2 LIMIT 1`
)

// Withdrawal returns the signed request by which something of a contract was
// withdrawn, if everything that it names, by e and by a, is of this contract;
// nil otherwise, and where it is not here.
func (q *Reader) Withdrawal(ctx context.Context, contract string, request []byte) (json []byte, err error) {
	err = q.DB.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		json, err = Withdrawal(c, contract, request)
		return err
	})
	return json, err
}

// Withdrawal is Store.Withdrawal in a read under way.
func Withdrawal(c *engine.Conn, contract string, request []byte) ([]byte, error) {
	row, err := c.One(sqlRequest, request)
	if err != nil || row == nil {
		return nil, err
	}
	json := row.Blob(0)
	if !column.Trusted(row[1], json) {
		return nil, column.ErrDamaged
	}
	ev, err := column.Event(json)
	if err != nil {
		return nil, fmt.Errorf("deletion request: %w", err)
	}
	for _, t := range ev.Tags {
		if len(t) < 2 || t[0] != "e" && t[0] != "a" {
			continue
		}
		of, err := concerns(c, contract, ev, t)
		if err != nil || !of {
			return nil, err
		}
	}
	return json, nil
}

// concerns reports whether what a tag of a deletion request names is of a
// contract.
func concerns(c *engine.Conn, contract string, ev *nostr.Event, t nostr.Tag) (bool, error) {
	if t[0] == "a" {
		kind, d, ok := record.OwnAddress(t[1], ev.PubKey)
		return ok && record.IsContract(kind) && record.SameKey(d, column.Of(contract)), nil
	}
	id, ok := column.Hex32(t[1])
	if !ok {
		return false, nil
	}
	return c.Exists(sqlConcerned, id, column.Of(contract))
}
