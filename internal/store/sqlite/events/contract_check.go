package events

import (
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

const (
	sqlDisplaced = `SELECT s.contract, s.poster FROM contract_states AS s JOIN contract_owners AS o ON o.contract = s.contract
		WHERE s.poster <> o.owner GROUP BY s.contract, s.poster ORDER BY s.contract, min(s.n) LIMIT ?`
	sqlAllAstray = `SELECT contract, id FROM contract_steps AS p WHERE step IS NULL AND NOT EXISTS
		(SELECT 1 FROM contract_states WHERE contract = p.contract AND event = p.id) ORDER BY contract, created_at LIMIT ?`
	sqlAllVain = `SELECT contract, id FROM contract_verdicts AS v WHERE NOT EXISTS
		(SELECT 1 FROM contract_states WHERE contract = v.contract AND event = v.id) ORDER BY contract, created_at LIMIT ?`
)

// contracts lists what is not what an id means, and states that do not follow:
// no faults, but what an operator may be asked.
func (k *checker) contracts() error {
	most := []engine.Value{int64(maxProblems)}
	err := k.c.Query(k.ctx, sqlDisplaced, most, func(v []engine.Value) error {
		contract, _ := v[0].(string)
		k.report.Displaced = append(k.report.Displaced, store.Displaced{Contract: contract, Poster: hexOf(v[1])})
		return nil
	})
	if err != nil {
		return err
	}
	for text, list := range map[string]*[]store.Astray{sqlAllAstray: &k.report.Astray, sqlAllVain: &k.report.Vain} {
		err := k.c.Query(k.ctx, text, most, func(v []engine.Value) error {
			contract, _ := v[0].(string)
			*list = append(*list, store.Astray{Contract: contract, EventID: hexOf(v[1])})
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
