package contracts

import (
	"context"
	"encoding/hex"
	"fmt"

	"engramd/nips/niptemp"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlLastStep = `SELECT max(at) FROM (SELECT max(created_at) AS at FROM contract_steps WHERE contract = ?1 AND author = ?2
		UNION ALL SELECT max(created_at) FROM contract_verdicts WHERE contract = ?1 AND author = ?2)`
	sqlAddStep = `INSERT INTO contract_steps(contract, a, b, id, author, other, status, previous, created_at, live, place, step)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
		ON CONFLICT DO UPDATE SET live = ?10, place = ?11, step = ?12 WHERE step IS NULL AND ?12 IS NOT NULL`
	sqlEndOfChain = `SELECT max(step) FROM contract_steps WHERE contract = ? AND a = ? AND b = ?`
	columnsStep   = `id, author, other, status, previous, created_at`
	sqlAstray     = `SELECT ` + columnsStep + ` FROM contract_steps INDEXED BY contract_steps_astray
		WHERE contract = ? AND a = ? AND b = ? AND step IS NULL ORDER BY created_at, id LIMIT ?`
	sqlLastOfChain = `SELECT author, max(created_at) FROM contract_steps
		WHERE contract = ? AND a = ? AND b = ? AND step IS NOT NULL GROUP BY author`
	sqlStepsOf    = `SELECT ` + columnsStep + ` FROM contract_steps WHERE contract = ? AND a = ? AND b = ? LIMIT ?`
	sqlFixed      = `SELECT 1 FROM contract_steps WHERE contract = ? AND a = ? AND b = ? AND live = 1 AND step IS NOT NULL LIMIT 1`
	sqlManySteps  = `SELECT 1 FROM contract_steps WHERE contract = ? AND a = ? AND b = ? LIMIT 1 OFFSET ?`
	sqlUnchain    = `UPDATE contract_steps SET step = NULL, live = 0, place = created_at WHERE contract = ? AND a = ? AND b = ? AND step IS NOT NULL`
	sqlChain      = `UPDATE contract_steps SET step = ? WHERE contract = ? AND a = ? AND b = ? AND id = ?`
	sqlPairsOf    = `SELECT DISTINCT a, b FROM contract_steps WHERE contract = ?1 AND (a = ?2 OR b = ?2) AND a <> b LIMIT ?3`
	sqlRestlessOf = `SELECT a, b FROM contract_steps INDEXED BY contract_steps_astray
		WHERE contract = ?1 AND step IS NULL AND (a = ?2 OR b = ?2) AND a <> b GROUP BY a, b LIMIT ?3`
	sqlDropUnproven = `DELETE FROM contract_states WHERE contract = ? AND a = ? AND b = ? AND unproven = 1`
	sqlOfferFree    = `UPDATE contract_states SET shown = 1 WHERE contract = ?1 AND a = ?2 AND b = ?2 AND shown = 0 AND NOT EXISTS
		(SELECT 1 FROM contract_states WHERE contract = ?1 AND poster = ?2 AND a <> b)`
)

// Bounds of the work that one state makes.
const (
	// maxFold is how many states between two keys are looked at together. Of
	// more, those that were adopted stay so, and what follows the last is
	// adopted.
	maxFold = 4096
	// maxPairs is how many pairs an offer that arrives late is tried in.
	maxPairs = 256
)

// lastStep is the created_at of the last state that a key signed of a contract,
// as a party or deciding, 0 for none.
func (w *states) lastStep(contract string, author []byte) (int64, error) {
	return w.c.Number(sqlLastStep, contract, author)
}

// addStep notes what a state says. number is its place in its pair's chain, 0
// for none yet.
func (w *states) addStep(p niptemp.Step, k pairKey, live bool, number int64) error {
	id, ok1 := column.Hex32(p.ID)
	author, ok2 := column.Hex32(p.Author)
	other, ok3 := column.Hex32(p.To)
	if !ok1 || !ok2 || !ok3 {
		return fmt.Errorf("contract state names no keys")
	}
	place, fixed := p.CreatedAt, int64(0)
	if live {
		place, fixed = w.events.NextSeq(), 1
	}
	return w.Do(sqlAddStep, k.contract, k.a, k.b, id, author, other, string(p.Status), string(p.Previous), p.CreatedAt,
		fixed, place, column.TimeOrNil(number))
}

// pairKey names two keys of a contract, in the order of its rows.
type pairKey struct {
	contract string
	a, b     []byte
}

// keys are the first arguments of most statements here.
func (k pairKey) keys(more ...engine.Value) []engine.Value {
	return append([]engine.Value{k.contract, k.a, k.b}, more...)
}

// steps reads what a query selects as columnsStep.
func (w *states) steps(contract, text string, args []engine.Value) (out []niptemp.Step, err error) {
	return engine.List(context.Background(), w.c, func(v engine.Row) (niptemp.Step, error) {
		return niptemp.Step{Contract: contract, ID: v.Hex(0), Author: v.Hex(1), To: v.Hex(2),
			Status: niptemp.Status(v.Text(3)), Previous: niptemp.Status(v.Text(4)), CreatedAt: v.Int(5)}, nil
	}, text, args...)
}

// refold finds where a contract stands between two keys after a state arrived
// that was not judged. What was judged as it arrived keeps its place, and
// others can only follow it; else all are put in their order anew.
func (w *states) refold(k pairKey, owner []byte) error {
	current, err := w.stateOf(k)
	if err != nil {
		return err
	}
	fixed, err := w.fixed(k, current, owner)
	if err != nil {
		return err
	}
	if fixed {
		return w.extend(k, current)
	}
	all, err := w.steps(k.contract, sqlStepsOf, k.keys(int64(maxFold)))
	if err != nil {
		return err
	}
	for _, self := range [][]byte{k.a, k.b} {
		if string(k.a) == string(k.b) {
			break
		}
		own := pairKey{k.contract, self, self}
		offers, err := w.steps(k.contract, sqlStepsOf, own.keys(int64(maxFold)))
		if err != nil {
			return err
		}
		all = append(all, offers...)
	}
	if all, err = w.ofParties(k, all); err != nil {
		return err
	}
	f, ok := niptemp.Fold(hex.EncodeToString(k.a), hex.EncodeToString(k.b), ownerText(owner), all)
	if _, err := w.Exec(sqlUnchain, k.keys()...); err != nil {
		return err
	}
	if !ok {
		return w.dropUnproven(k, current)
	}
	if err := w.chain(k, f.Chain, 1); err != nil {
		return err
	}
	if current != nil && current.State == f.State && current.unproven == f.Unproven {
		return nil
	}
	return w.setState(k, f.State, f.Unproven)
}

// fixed reports whether what is adopted between two keys stays so, as a
// decision does that no event says, or that was judged as it arrived. Where the
// owner of the contract has another part in it than the state says, it does
// not.
func (w *states) fixed(k pairKey, current *heldState, owner []byte) (bool, error) {
	if current == nil {
		return false, nil
	}
	if decided, err := w.c.Exists(sqlDecidedForGood, k.keys()...); err != nil || decided || current.unproven {
		return decided, err
	}
	inPair := string(owner) == string(k.a) || string(owner) == string(k.b)
	if inPair && current.Poster != ownerText(owner) {
		return false, nil
	}
	if fixed, err := w.c.Exists(sqlFixed, k.keys()...); err != nil || fixed {
		return fixed, err
	}
	return w.c.Exists(sqlManySteps, k.keys(int64(maxFold))...)
}

func ownerText(owner []byte) string {
	if owner == nil {
		return ""
	}
	return hex.EncodeToString(owner)
}

// extend adopts what follows the state between two keys among what arrived
// before it could.
func (w *states) extend(k pairKey, current *heldState) error {
	astray, err := w.steps(k.contract, sqlAstray, k.keys(int64(maxFold)))
	if err != nil || len(astray) == 0 || current == nil || current.unproven {
		return err
	}
	last := map[string]int64{}
	err = w.c.Each(sqlLastOfChain, k.keys(), func(v engine.Row) error {
		last[v.Hex(0)] = v.Int(1)
		return nil
	})
	if err != nil {
		return err
	}
	if astray, err = w.ofParties(k, astray); err != nil {
		return err
	}
	state, chain := current.Follow(last, astray)
	if len(chain) == 0 {
		return nil
	}
	end, err := w.c.Number(sqlEndOfChain, k.keys()...)
	if err != nil {
		return err
	}
	if err := w.chain(k, chain, end+1); err != nil {
		return err
	}
	return w.setState(k, state, false)
}

// chain numbers steps from first on.
func (w *states) chain(k pairKey, ids []string, first int64) error {
	for i, id := range ids {
		b, ok := column.Hex32(id)
		if !ok {
			return fmt.Errorf("contract state: %w", column.ErrDamaged)
		}
		if _, err := w.Exec(sqlChain, first+int64(i), k.contract, k.a, k.b, b); err != nil {
			return err
		}
	}
	return nil
}

// dropUnproven forgets a state that was taken on trust and has turned out not
// to follow.
func (w *states) dropUnproven(k pairKey, current *heldState) error {
	if current == nil || !current.unproven {
		return nil
	}
	poster, ok := column.Hex32(current.Poster)
	if !ok {
		return fmt.Errorf("contract state: %w", column.ErrDamaged)
	}
	return w.Run(engine.Do(sqlDropUnproven, k.keys()...), engine.Do(sqlOfferFree, k.contract, poster))
}

// tryAgain refolds the pairs of a key in a contract: all of them, or those that
// have a state which does not follow.
func (w *states) tryAgain(contract string, of, owner []byte, all bool) error {
	text := sqlRestlessOf
	if all {
		text = sqlPairsOf
	}
	return w.c.Each(text, []engine.Value{contract, of, int64(maxPairs)}, func(v engine.Row) error {
		k := pairKey{contract, v.Blob(0), v.Blob(1)}
		if k.a == nil || k.b == nil {
			return fmt.Errorf("contract state: %w", column.ErrDamaged)
		}
		return w.refold(k, owner)
	})
}
