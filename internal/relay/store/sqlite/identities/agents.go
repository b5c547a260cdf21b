package identities

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// maxAgents bounds the table of identities, which anybody with a key can add
// to. A variable for tests.
var maxAgents int64 = 1_000_000

const (
	agentColumns  = `a.agent_id, a.pubkey, a.sealed, a.created_at, a.provisioned`
	sqlAgent      = `SELECT ` + agentColumns + ` FROM contract_agents AS a WHERE a.agent_id = ?`
	sqlAgentOf    = `SELECT ` + agentColumns + ` FROM contract_agents AS a WHERE a.pubkey = ?`
	sqlAgentToken = `SELECT ` + agentColumns + ` FROM contract_tokens AS t JOIN contract_agents AS a USING (agent_id) WHERE t.hash = ?`
	sqlAgents     = `SELECT count(*) FROM contract_agents`
	sqlAddAgent   = `INSERT INTO contract_agents(agent_id, pubkey, sealed, created_at, folded, provisioned) VALUES (?, ?, ?, ?, ?, ?)`
	sqlWipeAgent  = `UPDATE contract_agents SET sealed = NULL WHERE agent_id = ? AND sealed = ?`
	sqlAddToken   = `INSERT INTO contract_tokens(hash, agent_id, created_at) VALUES (?, ?, ?)`
	sqlDropTokens = `DELETE FROM contract_tokens WHERE agent_id = ?`
	sqlDropAgent  = `DELETE FROM contract_agents WHERE agent_id = ?`
)

// AgentByID finds an identity by its agent id, nil for none.
func (s *Store) AgentByID(ctx context.Context, id string) (*store.Agent, error) {
	return s.agent(ctx, sqlAgent, id)
}

// AgentByKey finds the identity of a key in hex, nil for none.
func (s *Store) AgentByKey(ctx context.Context, pubkey string) (*store.Agent, error) {
	blob, ok := column.Hex32(pubkey)
	if !ok {
		return nil, nil
	}
	return s.agent(ctx, sqlAgentOf, blob)
}

// AgentByToken finds the identity that a bearer token was issued for, by the
// token's hash; nil for none.
func (s *Store) AgentByToken(ctx context.Context, hash [32]byte) (*store.Agent, error) {
	return s.agent(ctx, sqlAgentToken, hash[:])
}

func (s *Store) agent(ctx context.Context, text string, arg engine.Value) (found *store.Agent, err error) {
	row, err := engine.Look(ctx, s.db, (*engine.Conn).One, text, arg)
	if err != nil || row == nil {
		return nil, err
	}
	return scanAgent(row)
}

func scanAgent(v engine.Row) (*store.Agent, error) {
	id, ok1 := v[0].(string)
	created, ok2 := v[3].(int64)
	a := &store.Agent{ID: id, PubKey: v.Hex(1), Sealed: v.Blob(2), Created: created, Provisioned: v.Int(4) == 1}
	if !ok1 || !ok2 || len(a.PubKey) != 64 {
		return nil, fmt.Errorf("identity of an agent: %w", column.ErrDamaged)
	}
	return a, nil
}

// Provisioned reports whether the operator had a key made for an agent.
func (w *Writer) Provisioned(key []byte) (bool, error) { return w.c.Exists(sqlIsMade, key) }

// AddAgent stores an identity, with the hash of its first bearer token when the
// relay keeps its key (Sealed), and reports it as it is stored. Binding a key
// to the name that it has is no error and changes nothing. The error is
// ErrNameTaken, also for a name that looks like another's, ErrKeyNamed or
// ErrAgentsFull.
func (s *Store) AddAgent(ctx context.Context, a store.Agent, token [32]byte) (stored store.Agent, err error) {
	return store.Answer[store.Agent](ctx, s.orders, store.AddAgent{Agent: a, Token: token})
}

func (w *Writer) addAgent(a store.Agent, token [32]byte) (stored store.Agent, err error) {
	pubkey, ok := column.Hex32(a.PubKey)
	if !ok || a.ID == "" {
		return store.Agent{}, errors.New("an identity is a name and a pubkey")
	}
	named, err := w.agent(sqlAgent, a.ID)
	if err != nil {
		return store.Agent{}, err
	}
	if named != nil {
		if named.PubKey != a.PubKey || a.Sealed != nil {
			return store.Agent{}, store.ErrNameTaken
		}
		return *named, nil
	}
	if err := w.nameFree(a.ID, pubkey); err != nil {
		return store.Agent{}, err
	}
	if err := w.roomForAgent(pubkey, a.Sealed != nil); err != nil {
		return store.Agent{}, err
	}
	stored = a
	stored.Created, stored.Provisioned = w.Now, a.Sealed != nil
	if _, err := w.Exec(sqlAddAgent, a.ID, pubkey, column.BytesOrNil(a.Sealed), w.Now, store.FoldName(a.ID), stored.Provisioned); err != nil {
		return store.Agent{}, err
	}
	if a.Sealed != nil {
		_, err = w.Exec(sqlAddToken, token[:], a.ID, w.Now)
	}
	return stored, err
}

// Vanished forgets the identity of an author who asked for that, if it is
// not younger than the request: key, kept or not, and tokens. That the name was
// somebody's stays.
func (w *Writer) Vanished(pubkey []byte, until int64) error {
	a, err := w.agent(sqlAgentOf, pubkey)
	if err != nil || a == nil || a.Created > until {
		return err
	}
	return w.Run(engine.Do(sqlNameGone, a.ID, ownerOf(a.ID, pubkey), store.FoldName(a.ID)), engine.Do(sqlDropTokens, a.ID), engine.Do(sqlDropAgent, a.ID))
}

// roomForAgent refuses a key that has a name, and, but for those that the
// operator makes, one identity too many.
func (w *Writer) roomForAgent(pubkey []byte, provisioned bool) error {
	keyed, err := w.agent(sqlAgentOf, pubkey)
	if err != nil {
		return err
	}
	if keyed != nil {
		return store.ErrKeyNamed
	}
	if provisioned {
		return nil
	}
	n, err := w.c.Number(sqlAgents)
	if err == nil && n >= maxAgents {
		err = store.ErrAgentsFull
	}
	return err
}

func (w *Writer) agent(text string, arg engine.Value) (*store.Agent, error) {
	row, err := w.c.One(text, arg)
	if err != nil || row == nil {
		return nil, err
	}
	return scanAgent(row)
}

func (w *Writer) replaceToken(id string, hash [32]byte) error {
	a, err := w.agent(sqlAgent, id)
	if err != nil {
		return err
	}
	if a == nil || a.Sealed == nil {
		return store.ErrNotHeld
	}
	return w.Run(engine.Do(sqlDropTokens, id), engine.Do(sqlAddToken, hash[:], id, w.Now))
}

func (w *Writer) forgetKey(id string, sealed []byte) error {
	n, err := w.Exec(sqlWipeAgent, id, sealed)
	if err != nil {
		return err
	}
	if n == 0 {
		return store.ErrNotHeld
	}
	return w.Do(sqlDropTokens, id)
}
