package contracts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlPairOfA = `SELECT ` + columnsPair + `, shown FROM contract_states WHERE contract = ? AND a = ? AND shown > 0 ORDER BY shown, n LIMIT 1`
	sqlPairOfB = `SELECT ` + columnsPair + `, shown FROM contract_states WHERE contract = ? AND b = ? AND shown > 0 ORDER BY shown, n LIMIT 1`
	// Of a poster's opens the first: as it came, or by its date where it was
	// imported, so that their order there does not matter.
	sqlPairOpened = `SELECT s.contract, s.a, s.b, s.poster, s.status, s.created_at, s.event, s.at, s.n, s.deadline, s.arbitrator, s.unproven
		FROM contract_steps AS p JOIN contract_states AS s ON s.contract = p.contract AND s.a = p.a AND s.b = p.b
		WHERE p.contract = ?1 AND p.author = ?2 AND p.status = 'open' AND p.step IS NOT NULL AND s.poster = ?2 AND s.shown > 0
		ORDER BY p.live DESC, p.place, p.id LIMIT 1`
	sqlPairBy   = `SELECT ` + columnsPair + ` FROM contract_states WHERE contract = ? AND poster = ? AND shown > 0 ORDER BY shown, n LIMIT 1`
	sqlPairLeft = `SELECT ` + columnsPair + ` FROM contract_states WHERE contract = ? AND shown > 0 ORDER BY shown, n LIMIT 1`
	// With whom a key agreed: its own signed acceptance says it.
	sqlSigned = `SELECT other FROM contract_steps WHERE contract = ? AND author = ?
		AND status = 'accepted' AND previous = 'open' AND step IS NOT NULL ORDER BY created_at LIMIT 1`

	// An id of which a reader would be shown nothing: no entry that is neither
	// sealed nor withdrawn, and no state, is there.
	sqlUnseen = `SELECT count(DISTINCT v.value) FROM json_each(?) AS v
		WHERE NOT EXISTS (SELECT 1 FROM contract_counts AS c WHERE c.contract = v.value AND c.form = 0 AND c.withdrawn = 0 AND c.published > 0)
		AND NOT EXISTS (SELECT 1 FROM contract_states AS s CROSS JOIN events AS e ON e.id = s.event WHERE s.contract = v.value)`
	// An id in which a key has a part, as a party or as one who decides.
	sqlPartOf = `SELECT DISTINCT v.value FROM json_each(?1) AS v
		WHERE EXISTS (SELECT 1 FROM contract_states AS s WHERE s.contract = v.value AND s.a = ?2)
		OR EXISTS (SELECT 1 FROM contract_states AS s WHERE s.contract = v.value AND s.b = ?2)
		OR EXISTS (SELECT 1 FROM contract_entries AS e WHERE e.contract = v.value AND e.author = ?2)
		OR EXISTS (SELECT 1 FROM contract_owners AS o WHERE o.contract = v.value AND o.owner = ?2)
		OR EXISTS (SELECT 1 FROM contract_cases AS d WHERE d.contract = v.value AND ?2 IN (d.arbitrator, d.decider, d.expirer))
		OR EXISTS (SELECT 1 FROM contract_terms AS t WHERE t.contract = v.value AND t.said = 0 AND t.term = 3 AND t.value = ?2)`
	sqlSalt = `SELECT salt FROM contract_owners WHERE contract = ? AND owner = ? AND salt IS NOT NULL`
)

// ContractPair finds what a contract id means to a key, nil for nothing. To a
// poster who owns it, and to who has no part in it, it is the owner's contract,
// with the worker who accepted it first. Whoever accepted it from somebody else
// has dealt with him. Others who are named by one who does not own it find
// that, and so does an arbitrator; an empty key is everybody.
//
// poster asks for the contract of one of several posters under the id, which,
// but for the owner's, its parties and its arbitrator alone find.
func (s *Store) ContractPair(ctx context.Context, contract, key, poster string) (out *store.ContractPair, err error) {
	who, _ := column.Hex32(key)
	by, named := column.Hex32(poster)
	if poster != "" && !named {
		return nil, nil
	}
	err = s.db.Snapshot(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		f := finder{c: c, contract: contract}
		if err := f.findOwner(); err != nil {
			return err
		}
		var err error
		if f.key, err = standIn(c, contract, who); err != nil {
			return err
		}
		if by, err = standIn(c, contract, by); err != nil {
			return err
		}
		row, err := f.find(by)
		if err == nil {
			out, err = foundPair(ctx, c, row, key, poster)
		}
		return err
	})
	return out, err
}

// finder looks for a contract in one state of the database.
type finder struct {
	c          *engine.Conn
	contract   string
	key, owner []byte // nil for none
	committed  bool   // the id shows that the owner made it
}

func (f *finder) findOwner() error {
	row, err := f.c.One(sqlOwner, f.contract)
	if err == nil && row != nil {
		f.owner, f.committed = row.Blob(0), row[1] != nil
	}
	return err
}

// find is the row of the pair, by a poster or by whomever it is.
func (f *finder) find(poster []byte) ([]engine.Value, error) {
	ways := []func() ([]engine.Value, error){
		f.accepted, func() ([]engine.Value, error) { return f.between(f.owner, f.key) },
		func() ([]engine.Value, error) { return f.standing(f.key) }, f.party,
		func() ([]engine.Value, error) { return f.arbitrated(nil) }, f.public,
	}
	switch {
	case poster != nil && bytes.Equal(poster, f.owner), poster == nil && f.owner != nil && bytes.Equal(f.key, f.owner):
		return f.standing(f.owner)
	case poster != nil && bytes.Equal(poster, f.key):
		return f.standing(f.key)
	case poster != nil:
		row, err := f.between(poster, f.key)
		if err != nil || row != nil && bytes.Equal(row[3].([]byte), poster) {
			return row, err
		}
		return f.arbitrated(poster)
	case f.key == nil:
		return f.public()
	}
	for _, way := range ways {
		if row, err := way(); err != nil || row != nil {
			return row, err
		}
	}
	return nil, nil
}

// standing is a poster's contract: with who accepted it, else what he offers.
func (f *finder) standing(poster []byte) ([]engine.Value, error) {
	if poster == nil {
		return nil, nil
	}
	worker, err := f.c.One(sqlAccepted, f.contract, poster)
	if err != nil {
		return nil, err
	}
	if worker != nil {
		row, err := f.between(poster, worker[0].([]byte))
		if err != nil || row != nil && bytes.Equal(row[3].([]byte), poster) {
			return row, err
		}
	}
	row, err := f.c.One(sqlPairOpened, f.contract, poster)
	if err != nil || row != nil {
		return row, err
	}
	return f.c.One(sqlPairBy, f.contract, poster)
}

func (f *finder) between(x, y []byte) ([]engine.Value, error) {
	if x == nil || y == nil {
		return nil, nil
	}
	if bytes.Compare(x, y) > 0 {
		x, y = y, x
	}
	return f.c.One(sqlPairExact, f.contract, x, y)
}

// accepted is the contract that the key has accepted.
func (f *finder) accepted() ([]engine.Value, error) {
	poster, err := f.c.One(sqlSigned, f.contract, f.key)
	if err != nil || poster == nil {
		return nil, err
	}
	return f.between(poster[0].([]byte), f.key)
}

// party is the first contract that names the key.
func (f *finder) party() ([]engine.Value, error) {
	a, err := f.c.One(sqlPairOfA, f.contract, f.key)
	if err != nil {
		return nil, err
	}
	b, err := f.c.One(sqlPairOfB, f.contract, f.key)
	if err != nil || a == nil || b != nil && standsBefore(b, a) {
		return b, err
	}
	return a, nil
}

// arbitrated is the first contract of which the key is the arbitrator, of a
// poster or of whomever.
func (f *finder) arbitrated(poster []byte) ([]engine.Value, error) {
	if f.key == nil {
		return nil, nil
	}
	return f.c.One(sqlPairOfArbitrator, f.contract, f.key, column.BytesOrNil(poster))
}

// standsBefore is the order of sqlPairOfA: shown, then n.
func standsBefore(x, y engine.Row) bool {
	if at := len(x) - 1; x[at] != y[at] {
		return x[at].(int64) < y[at].(int64)
	}
	return x[8].(int64) < y[8].(int64)
}

// public is what the id means to everybody: where it shows who made it, never
// somebody else's contract.
func (f *finder) public() ([]engine.Value, error) {
	row, err := f.standing(f.owner)
	if err != nil || row != nil || f.committed {
		return row, err
	}
	return f.c.One(sqlPairLeft, f.contract)
}

// ContractSalt is the salt that shows that a poster made a contract's id, nil
// if that is not known.
func (s *Store) ContractSalt(ctx context.Context, contract, poster string) (salt []byte, err error) {
	who, ok := column.Hex32(poster)
	if !ok {
		return nil, nil
	}
	err = s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		owner, err := standIn(c, contract, who)
		if err != nil {
			return err
		}
		salt, err = c.Blob(sqlSalt, contract, owner)
		return err
	})
	return salt, err
}

// LastState is the created_at of the last state that a key signed of a
// contract, between whatever keys, 0 for none.
func (s *Store) LastState(ctx context.Context, contract, author string) (at int64, err error) {
	who, ok := column.Hex32(author)
	if !ok {
		return 0, fmt.Errorf("the author is no pubkey")
	}
	return engine.Look(ctx, s.db, (*engine.Conn).Number, sqlLastStep, contract, who)
}

// fewIDs is how many ids are a look-up; more are a scan.
const fewIDs = 16

// ContractsUnseen is how many of some contract ids show nothing to who names
// them. Ids in which one of the reader's keys has a part do not count; if only
// these are asked for (known), no other is looked at, and all others count.
func (s *Store) ContractsUnseen(ctx context.Context, r gate.Reader, ids []string, known bool) (unseen int, err error) {
	distinct := map[string]bool{}
	for _, id := range ids {
		distinct[id] = true
	}
	list, err := json.Marshal(slices.Sorted(maps.Keys(distinct)))
	if err != nil {
		return 0, fmt.Errorf("contract ids: %w", err)
	}
	how := engine.LookUp
	if len(distinct) > fewIDs {
		how = engine.Scan
	}
	err = s.db.Snapshot(ctx, how, func(ctx context.Context, c *engine.Conn) error {
		for _, k := range r.Keys() {
			who, _ := column.Hex32(k)
			err := c.Query(ctx, sqlPartOf, []engine.Value{string(list), who}, func(v engine.Row) error {
				delete(distinct, v.Text(0))
				return nil
			})
			if err != nil {
				return err
			}
		}
		unseen = len(distinct)
		if known || unseen == 0 {
			return nil
		}
		if list, err = json.Marshal(slices.Sorted(maps.Keys(distinct))); err != nil {
			return err
		}
		n, err := c.Number(sqlUnseen, string(list))
		unseen = int(n)
		return err
	})
	return unseen, err
}
