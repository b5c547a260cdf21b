package contracts

import (
	"context"
	"encoding/json"
	"fmt"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/niptemp"
)

const (
	// Of one contract those who agreed first come first, as the index has them.
	sqlCasesOf = `SELECT c.contract, c.poster, c.worker, c.arbitrator, c.decider, c.expirer FROM json_each(?2) AS named
		CROSS JOIN contract_cases AS c INDEXED BY contract_cases_arbitrator ON c.arbitrator = ?1 AND c.contract = named.value
		WHERE c.arbitrator IS NOT NULL LIMIT ?3`
	sqlIsArbitrator = `SELECT 1 FROM contract_cases INDEXED BY contract_cases_arbitrator WHERE arbitrator = ? LIMIT 1`
	// The pair that a contract id means to its arbitrator, of one poster or of
	// whomever.
	sqlPairOfArbitrator = `SELECT ` + columnsPair + ` FROM contract_states WHERE contract = ?1 AND arbitrator = ?2 AND shown > 0
		AND (?3 IS NULL OR poster = ?3) ORDER BY shown, n LIMIT 1`
)

// MaxCases is how many cases of a reader's one question is answered with: each
// is a condition of its own, put to every row. A filter that names more is one
// that does not name cases alone.
const MaxCases = 64

// Cases are those contracts among the named ones of which one of the keys is
// the arbitrator that both parties agreed on.
func (s *Store) Cases(ctx context.Context, keys, contracts []string) (out []gate.Case, err error) {
	if len(keys) == 0 || len(contracts) == 0 {
		return nil, nil
	}
	named, err := json.Marshal(contracts)
	if err != nil {
		return nil, fmt.Errorf("contracts that are named: %w", err)
	}
	err = s.db.Snapshot(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		for _, key := range keys {
			if len(out) >= MaxCases {
				break
			}
			who, ok := column.Hex32(key)
			if !ok {
				continue
			}
			// Nearly every reader decides nothing, and is asked no more.
			if some, err := c.Exists(sqlIsArbitrator, who); err != nil {
				return err
			} else if !some {
				continue
			}
			more, err := engine.List(ctx, c, caseOf, sqlCasesOf, who, string(named), int64(MaxCases-len(out)))
			if err != nil {
				return err
			}
			out = append(out, more...)
		}
		for i := range out {
			if err := unhide(ctx, c, out[i].Contract, &out[i].Poster, &out[i].Worker); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func caseOf(v engine.Row) (gate.Case, error) {
	c := gate.Case{Contract: v.Text(0), Poster: v.Hex(1), Worker: v.Hex(2)}
	for _, key := range v[3:] {
		if key != nil {
			c.Agreed = append(c.Agreed, column.HexOf(key))
		}
	}
	return c, nil
}

// TermsOf are who decides about a contract between two keys: what the poster
// has offered, and what both have agreed on.
func (s *Store) TermsOf(ctx context.Context, p *store.ContractPair) (offered, agreed niptemp.Terms, err error) {
	poster, ok := column.Hex32(p.Poster)
	if !ok {
		return offered, agreed, nil
	}
	worker, named := column.Hex32(p.Worker)
	if !named {
		worker = poster
	}
	err = s.db.Snapshot(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) (err error) {
		if poster, err = standIn(c, p.Contract, poster); err != nil {
			return err
		}
		if worker, err = standIn(c, p.Contract, worker); err != nil {
			return err
		}
		if offered, err = offeredTerms(ctx, c, p.Contract, poster, worker); err == nil {
			agreed, err = agreedTerms(c, p.Contract, poster, worker)
		}
		return err
	})
	return offered, agreed, err
}
