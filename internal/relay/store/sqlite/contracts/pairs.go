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
		if err == nil {
			out, err = foundPair(ctx, c, row, poster, worker)
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
	return w.Do(sqlTerms, c.Contract, a, b, column.TimeOrNil(c.Terms.Deadline), arbitrator)
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
	return w.Do(sqlDecision, d.At, contract, a, b, d.Was, d.Status, d.By, who, d.Note, keyOrNil(d.EventID))
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
		out = &store.ContractDecision{Was: row.Text(0), Status: row.Text(1), By: row.Text(2), Key: row.Hex(3), Note: row.Text(4), At: row.Int(5), EventID: row.Hex(6)}
		out.Gone = row[6] != nil && out.EventID == ""
		return nil
	})
	return out, err
}

// DueContracts lists up to limit pairs whose deadline is to be looked at.
func (s *Store) DueContracts(ctx context.Context, now int64, limit int) (out []store.ContractPair, err error) {
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		out, err = pairs(ctx, c, sqlDue, now, int64(limit))
		return err
	})
	return out, err
}

// NextDue is when the first deadline is to be looked at, 0 for never.
func (s *Store) NextDue(ctx context.Context) (at int64, err error) {
	return engine.Look(ctx, s.db, (*engine.Conn).Number, sqlFirstDue)
}

func (w *Writer) lookAtDeadline(c store.LookAtDeadline) error {
	a, b, err := pairBetween(w.c, c.Contract, c.Poster, c.Worker)
	if err != nil {
		return err
	}
	return w.Do(sqlLookAt, c.Contract, a, b, column.TimeOrNil(c.At))
}

// scanPair reads columnsPair.
func scanPair(v engine.Row) (p store.ContractPair, err error) {
	a, ok1 := v[1].([]byte)
	b, ok2 := v[2].([]byte)
	poster, ok3 := v[3].([]byte)
	if !ok1 || !ok2 || !ok3 {
		return p, fmt.Errorf("contract state: %w", column.ErrDamaged)
	}
	p = store.ContractPair{
		Contract: v.Text(0), Poster: v.Hex(3), Status: v.Text(4), MovedAt: v.Int(5), EventID: v.Hex(6), At: v.Int(7), N: v.Int(8),
		Deadline: v.Int(9), Arbitrator: v.Hex(10), Unproven: v.Int(11) == 1,
	}
	switch {
	case bytes.Equal(a, b):
	case bytes.Equal(a, poster):
		p.Worker = column.HexOf(b)
	default:
		p.Worker = column.HexOf(a)
	}
	return p, nil
}
