package contracts

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// A key's contracts: as the lower key of a pair, as the higher one, and as
// arbitrator. An offer that was accepted is not listed beside its pair, and who
// accepted it too late is no matter of the poster's.
const (
	ofLower = `contract_states INDEXED BY contract_states_of_a
		WHERE a = ?1 AND (shown = 1 OR shown = 2 AND poster <> ?1) AND (?2 = '' OR status = ?2)`
	ofHigher = `contract_states INDEXED BY contract_states_of_b
		WHERE b = ?1 AND a <> ?1 AND (shown = 1 OR shown = 2 AND poster <> ?1) AND (?2 = '' OR status = ?2)`
	ofArbitrator = `contract_states INDEXED BY contract_states_arbitrator
		WHERE arbitrator = ?1 AND a <> ?1 AND b <> ?1 AND shown = 1 AND (?2 = '' OR status = ?2)`

	sqlContracts = `SELECT ` + columnsPair + ` FROM ` + ofLower + `
		UNION ALL SELECT ` + columnsPair + ` FROM ` + ofHigher + `
		UNION ALL SELECT ` + columnsPair + ` FROM ` + ofArbitrator + ` ORDER BY n DESC LIMIT ?3 OFFSET ?4`
	sqlContractsCount = `SELECT (SELECT count(*) FROM ` + ofLower + `) + (SELECT count(*) FROM ` + ofHigher + `)
		+ (SELECT count(*) FROM ` + ofArbitrator + `)`
)

// Contracts lists the contracts of a key as party or arbitrator, those in one
// status when it is not "", the newest first, and how many there are.
func (s *Store) Contracts(ctx context.Context, key, status string, limit, offset int) (out []store.ContractPair, total int, err error) {
	who, ok := column.Hex32(key)
	if !ok {
		return nil, 0, nil
	}
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		n, err := c.Number(sqlContractsCount, who, status)
		if err != nil {
			return err
		}
		total = int(n)
		err = c.Query(ctx, sqlContracts, []engine.Value{who, status, int64(limit), int64(offset)}, func(v []engine.Value) error {
			p, err := scanPair(v)
			if err == nil {
				out = append(out, *p)
			}
			return err
		})
		return unhideAll(ctx, c, out, err)
	})
	return out, total, err
}
