// Package identities keeps the tables of who is who: agents' names and tokens,
// the relay's own keys, and the check value of the master key that kept keys are
// sealed with. It takes part in what the writer does: it executes the commands
// about them.
package identities

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Writer is what the writer does to these tables. It is used on the writer's
// goroutine alone.
type Writer struct {
	*engine.Writer
	c      *engine.Conn
	others Sealed
}

// NewWriter returns the part of w that is about these tables. others is what
// else is sealed with the master key.
func NewWriter(w *engine.Writer, others Sealed) *Writer { return &Writer{w, w.Conn(), others} }

// Store reads these tables, and has the commands executed that are about them.
type Store struct {
	db     *engine.DB
	orders store.Orders
	others Sealed
}

// NewStore returns who is who in a database. others is what else is sealed with
// the master key.
func NewStore(db *engine.DB, orders store.Orders, others Sealed) *Store {
	return &Store{db, orders, others}
}

// Execute executes the commands on identities.
func (w *Writer) Execute(c store.Command) (answer any, handled bool, err error) {
	switch c := c.(type) {
	case store.AddAgent:
		answer, err = w.addAgent(c.Agent, c.Token)
	case store.ReplaceToken:
		err = w.replaceToken(c.ID, c.Hash)
	case store.DropTokens:
		err = w.dropTokens(c.ID)
	case store.ForgetKey:
		err = w.forgetKey(c.ID, c.Sealed)
	case store.DropAgent:
		err = w.dropAgent(c.ID, c.WithKey)
	case store.SetVaultCheck:
		answer, err = w.setVaultCheck(c.Check)
	case store.SetRelayKey:
		err = w.setRelayKey(c.PubKey, c.Revoke)
	case store.RevokeRelayKey:
		answer, err = w.revokeRelayKey(c.PubKey)
	default:
		return nil, false, nil
	}
	return answer, true, err
}

const (
	sqlFolded    = `SELECT ` + agentColumns + ` FROM contract_agents AS a WHERE a.folded = ? LIMIT 1`
	sqlNameGone  = `INSERT INTO contract_names_gone(agent_id, owner, folded) VALUES (?, ?, ?) ON CONFLICT (agent_id) DO UPDATE SET owner = excluded.owner`
	sqlGoneAlike = `SELECT agent_id, owner FROM contract_names_gone WHERE folded = ?`
	sqlNameBack  = `DELETE FROM contract_names_gone WHERE agent_id = ?`
	sqlSameNames = `SELECT agent_id FROM contract_agents WHERE folded IN
		(SELECT folded FROM contract_agents GROUP BY folded HAVING count(*) > 1) ORDER BY folded, created_at, agent_id`
)

// nameFree refuses a name that is, or looks like, one that another key has, or
// had when it vanished.
func (w *Writer) nameFree(id string, pubkey []byte) error {
	row, err := w.c.One(sqlFolded, store.FoldName(id))
	if err != nil {
		return err
	}
	if row != nil {
		return store.ErrNameTaken
	}
	var back []string
	err = w.c.Query(context.Background(), sqlGoneAlike, []engine.Value{store.FoldName(id)}, func(v engine.Row) error {
		if !bytes.Equal(v.Blob(1), ownerOf(v.Text(0), pubkey)) {
			return store.ErrNameTaken
		}
		back = append(back, v.Text(0))
		return nil
	})
	for i := 0; i < len(back) && err == nil; i++ {
		_, err = w.Exec(sqlNameBack, back[i])
	}
	return err
}

// ownerOf stands for the key of a name that is gone.
func ownerOf(id string, pubkey []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(id), []byte{0}, pubkey))
	return sum[:]
}

// Check finds agent ids that look the same (store.FoldName): a database from
// before names were compared so may have them.
func Check(ctx context.Context, c *engine.Conn, report *store.Report) error {
	last := ""
	return c.Query(ctx, sqlSameNames, nil, func(v engine.Row) error {
		id, same := v.Text(0), &report.SameNames
		if n := len(*same); n > 0 && last == store.FoldName(id) {
			(*same)[n-1] = append((*same)[n-1], id)
		} else {
			*same = append(*same, []string{id})
		}
		last = store.FoldName(id)
		return nil
	})
}

const (
	sqlSealedAgents = `SELECT ` + agentColumns + ` FROM contract_agents AS a WHERE a.sealed IS NOT NULL AND a.agent_id > ? ORDER BY a.agent_id LIMIT ?`
	sqlResealAgent  = `UPDATE contract_agents SET sealed = ? WHERE agent_id = ?`
)

// resealed is how many values are held in memory at a time.
const resealed = 64

// Reseal gives all that is sealed its successor: again is given each value and
// returns the one to take its place. That, and the check value of the new key in
// place of that of the present one, is part of the transaction under way. n is
// how many values there were. The error is ErrOtherVault when the present key is
// not the one of check value was, else what again says.
func (w *Writer) Reseal(ctx context.Context, was, now []byte, again func(store.Sealed) ([]byte, error)) (n int, err error) {
	row, err := w.c.One(sqlVaultCheck)
	if err != nil {
		return 0, err
	}
	if row == nil || !bytes.Equal(row[0].([]byte), was) {
		return 0, store.ErrOtherVault
	}
	put := func(v store.Sealed, text string, where ...engine.Value) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		value, err := again(v)
		if err != nil {
			return err
		}
		n++
		return w.Do(text, append([]engine.Value{value}, where...)...)
	}
	if err := w.resealAgents(ctx, put); err != nil {
		return 0, err
	}
	if err := w.others.Reseal(ctx, w.c, put); err != nil {
		return 0, err
	}
	return n, w.SetMeta("contracts_key", now)
}

func (w *Writer) resealAgents(ctx context.Context, put PutSealed) error {
	for last := ""; ; {
		page, err := engine.List(ctx, w.c, scanAgent, sqlSealedAgents, last, int64(resealed))
		if err != nil || len(page) == 0 {
			return err
		}
		for _, a := range page {
			if err := put(store.Sealed{Agent: a, Value: a.Sealed}, sqlResealAgent, a.ID); err != nil {
				return err
			}
		}
		last = page[len(page)-1].ID
	}
}
