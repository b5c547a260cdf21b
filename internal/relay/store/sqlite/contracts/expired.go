package contracts

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/niptemp"
)

const (
	sqlSaidByWorker = `SELECT id, created_at FROM contract_verdicts WHERE contract = ?1 AND poster = ?2 AND worker = ?2 AND author = ?3`
	sqlDropVerdict  = `DELETE FROM contract_verdicts WHERE contract = ? AND id = ?`
)

// ofParties leaves out the states by which a party says that a contract has
// expired of which an open names a deadline: only the expirer says so.
func (w *states) ofParties(k pairKey, steps []niptemp.Step) ([]niptemp.Step, error) {
	expired := func(p niptemp.Step) bool { return p.Status == niptemp.Expired }
	if !slices.ContainsFunc(steps, expired) {
		return steps, nil
	}
	for _, pair := range [][2][]byte{{k.a, k.b}, {k.b, k.a}} {
		offered, err := w.termsOffered(k.contract, pair[0], pair[1])
		if err != nil {
			return nil, err
		}
		if offered.Deadline != 0 {
			return slices.DeleteFunc(steps, expired), nil
		}
	}
	return steps, nil
}

// partyAfterAll takes for the move of a party what came before the open that
// made its author one: an older relay let him say that the offer has expired.
func (w *states) partyAfterAll(ev *nostr.Event) error {
	said, err := niptemp.ReadState(ev)
	if err != nil || said.Status != niptemp.Open || said.To == ev.PubKey {
		return nil // no open to somebody
	}
	poster, _ := column.Hex32(ev.PubKey)
	worker, _ := column.Hex32(said.To)
	a, b, err := ordered(ev.PubKey, said.To)
	if err != nil {
		return err
	}
	return w.c.Each(sqlSaidByWorker, []engine.Value{said.Contract, poster, worker}, func(v engine.Row) error {
		p := niptemp.Step{Contract: said.Contract, ID: v.Hex(0), Author: said.To, To: ev.PubKey, Status: niptemp.Expired, Previous: niptemp.Open, CreatedAt: v.Int(1)}
		if err := w.addStep(p, pairKey{said.Contract, a, b}, false, 0); err != nil {
			return err
		}
		return w.Do(sqlDropVerdict, said.Contract, v[0])
	})
}
