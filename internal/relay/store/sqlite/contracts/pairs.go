package contracts

import (
	"bytes"
	"context"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	columnsPair = `contract, a, b, poster, status, created_at, event, at, n, deadline, arbitrator, unproven`

	sqlPairExact = `SELECT ` + columnsPair + ` FROM contract_states WHERE contract = ? AND a = ? AND b = ?`

	sqlTerms = `UPDATE contract_states SET api = 1, deadline = ?4, arbitrator = ?5, due = ?4
		WHERE contract = ?1 AND a = ?2 AND b = ?3 AND api = 0`
	sqlDecide = `UPDATE contract_states SET status = ?5, created_at = max(?6, created_at + 1)
		WHERE contract = ?1 AND a = ?2 AND b = ?3 AND status = ?4`
	sqlDecision = `INSERT INTO contract_decisions(at, contract, a, b, was, status, by, key, note, event) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlDecided  = `SELECT was, status, by, key, note, at, event FROM contract_decisions WHERE contract = ? AND a = ? AND b = ?
		ORDER BY n DESC LIMIT 1`
	sqlDue      = `SELECT ` + columnsPair + ` FROM contract_states WHERE due <= ? ORDER BY due LIMIT ?`
	sqlFirstDue = `SELECT min(due) FROM contract_states WHERE due IS NOT NULL`
	sqlLookAt   = `UPDATE contract_states SET due = ?4 WHERE contract = ?1 AND a = ?2 AND b = ?3`
)

// ContractBetween is the state of a contract between a poster and a worker (""
// while none is named), nil for none.
func (s *Store) ContractBetween(ctx context.Context, contract, poster, worker string) (out *store.ContractPair, err error) {
	err = s.db.Snapshot(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		a, b, err := pairBetween(c, contract, poster, worker)
		if err != nil {
			return err
		}
		row, err := c.One(sqlPairExact, contract, a, b)
		if err == nil && row != nil {
			if out, err = scanPair(row); err == nil {
				err = unhidePair(ctx, c, out, poster, worker)
			}
		}
		return err
	})
	return out, err
}

// pairBetween is between by what the two are called in what outlives events.
func pairBetween(c *engine.Conn, contract, poster, worker string) (a, b []byte, err error) {
	if a, b, err = between(poster, worker); err != nil {
		return nil, nil, err
	}
	return standIns(c, contract, a, b)
}

func between(poster, worker string) (a, b []byte, err error) {
	if worker == "" {
		worker = poster
	}
	return ordered(poster, worker)
}

// SetContractTerms writes down what was agreed through the API on a pair that
// has no terms yet.
func (s *Store) SetContractTerms(ctx context.Context, contract, poster, worker string, t store.ContractTerms) error {
	return s.orders.Tell(ctx, store.SetContractTerms{Contract: contract, Poster: poster, Worker: worker, Terms: t})
}

func (w *Writer) setTerms(c store.SetContractTerms) error {
	a, b, err := pairBetween(w.c, c.Contract, c.Poster, c.Worker)
	if err != nil {
		return err
	}
	var arbitrator engine.Value
	if c.Terms.Arbitrator != "" {
		k, ok := column.Hex32(c.Terms.Arbitrator)
		if !ok {
			return fmt.Errorf("the arbitrator is no pubkey")
		}
		arbitrator = k
	}
	_, err = w.Exec(sqlTerms, c.Contract, a, b, column.TimeOrNil(c.Terms.Deadline), arbitrator)
	return err
}

// DecideContract makes a move that no party makes, if the pair is still in the
// state d.Was, and records it. Otherwise the error is ErrContractMoved. The
// state's event stays the last one there is.
func (s *Store) DecideContract(ctx context.Context, p *store.ContractPair, d store.ContractDecision) error {
	return s.orders.Tell(ctx, store.DecideContract{Contract: p.Contract, Poster: p.Poster, Worker: p.Worker, Decision: d})
}

func (w *Writer) decideContract(c store.DecideContract) error {
	a, b, err := pairBetween(w.c, c.Contract, c.Poster, c.Worker)
	if err != nil {
		return err
	}
	n, err := w.Exec(sqlDecide, c.Contract, a, b, c.Decision.Was, c.Decision.Status, c.Decision.At)
	if err == nil && n == 0 {
		err = store.ErrContractMoved
	}
	if err != nil {
		return err
	}
	return w.decision(c.Contract, a, b, c.Decision)
}

func (w *states) decision(contract string, a, b []byte, d store.ContractDecision) error {
	var who engine.Value
	if k, ok := column.Hex32(d.Key); ok {
		who = k
	}
	_, err := w.Exec(sqlDecision, d.At, contract, a, b, d.Was, d.Status, d.By, who, d.Note, keyOrNil(d.EventID))
	return err
}

// ContractDecision is the last decision on a pair, nil for none.
func (s *Store) ContractDecision(ctx context.Context, p *store.ContractPair) (out *store.ContractDecision, err error) {
	err = s.db.Snapshot(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		a, b, err := pairBetween(c, p.Contract, p.Poster, p.Worker)
		if err != nil {
			return err
		}
		row, err := c.One(sqlDecided, p.Contract, a, b)
		if err != nil || row == nil {
			return err
		}
		out = &store.ContractDecision{}
		out.Was, _ = row[0].(string)
		out.Status, _ = row[1].(string)
		out.By, _ = row[2].(string)
		if row[3] != nil {
			out.Key = column.HexOf(row[3])
		}
		out.Note, _ = row[4].(string)
		out.At, _ = row[5].(int64)
		if row[6] != nil {
			out.EventID = column.HexOf(row[6])
			out.Gone = out.EventID == ""
		}
		return nil
	})
	return out, err
}

// DueContracts lists up to limit pairs whose deadline is to be looked at.
func (s *Store) DueContracts(ctx context.Context, now int64, limit int) (out []store.ContractPair, err error) {
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		err := c.Query(ctx, sqlDue, []engine.Value{now, int64(limit)}, func(v []engine.Value) error {
			p, err := scanPair(v)
			if err == nil {
				out = append(out, *p)
			}
			return err
		})
		return unhideAll(ctx, c, out, err)
	})
	return out, err
}

// NextDue is when the first deadline is to be looked at, 0 for never.
func (s *Store) NextDue(ctx context.Context) (at int64, err error) {
	err = s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		at, err = c.Number(sqlFirstDue)
		return err
	})
	return at, err
}

// LookAtDeadline says when a pair's deadline is to be looked at again, 0 for
// never.
func (s *Store) LookAtDeadline(ctx context.Context, p *store.ContractPair, at int64) error {
	return s.orders.Tell(ctx, store.LookAtDeadline{Contract: p.Contract, Poster: p.Poster, Worker: p.Worker, At: at})
}

func (w *Writer) lookAtDeadline(c store.LookAtDeadline) error {
	a, b, err := pairBetween(w.c, c.Contract, c.Poster, c.Worker)
	if err != nil {
		return err
	}
	_, err = w.Exec(sqlLookAt, c.Contract, a, b, column.TimeOrNil(c.At))
	return err
}

// scanPair reads columnsPair.
func scanPair(v []engine.Value) (*store.ContractPair, error) {
	a, ok1 := v[1].([]byte)
	b, ok2 := v[2].([]byte)
	poster, ok3 := v[3].([]byte)
	if !ok1 || !ok2 || !ok3 {
		return nil, fmt.Errorf("contract state: %w", column.ErrDamaged)
	}
	p := &store.ContractPair{Poster: column.HexOf(poster), EventID: column.HexOf(v[6])}
	switch {
	case bytes.Equal(a, b):
	case bytes.Equal(a, poster):
		p.Worker = column.HexOf(b)
	default:
		p.Worker = column.HexOf(a)
	}
	p.Contract, _ = v[0].(string)
	p.Status, _ = v[4].(string)
	p.MovedAt, _ = v[5].(int64)
	p.At, _ = v[7].(int64)
	p.N, _ = v[8].(int64)
	p.Deadline, _ = v[9].(int64)
	if v[10] != nil {
		p.Arbitrator = column.HexOf(v[10])
	}
	p.Unproven = v[11] == engine.Value(int64(1))
	return p, nil
}
