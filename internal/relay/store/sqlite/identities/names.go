package identities

import (
	"bytes"
	"context"
	"crypto/sha256"
	"slices"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

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
	err = w.c.Query(context.Background(), sqlGoneAlike, []engine.Value{store.FoldName(id)}, func(v []engine.Value) error {
		gone, _ := v[0].(string)
		if owner, _ := v[1].([]byte); !bytes.Equal(owner, ownerOf(gone, pubkey)) {
			return store.ErrNameTaken
		}
		back = append(back, gone)
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
	return c.Query(ctx, sqlSameNames, nil, func(v []engine.Value) error {
		id, _ := v[0].(string)
		same := &report.SameNames
		if n := len(*same); n > 0 && last == store.FoldName(id) {
			(*same)[n-1] = append((*same)[n-1], id)
		} else {
			*same = append(*same, []string{id})
		}
		last = store.FoldName(id)
		return nil
	})
}
