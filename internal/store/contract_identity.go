package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
)

var (
	// ErrNameTaken means that an agent id belongs to another key.
	ErrNameTaken = errors.New("the agent id is taken")
	// ErrKeyNamed means that a key has another agent id.
	ErrKeyNamed = errors.New("the key has an agent id")
	// ErrNotHeld means that there is no such identity, or no key of it is kept.
	ErrNotHeld = errors.New("no key is kept for this agent id")
	// ErrAgentsFull means that there are as many identities as there may be.
	ErrAgentsFull = errors.New("too many identities")
)

// maxAgents bounds the table of identities, which anybody with a key can add to.
const maxAgents = 1_000_000

// Agent is the identity of an agent: its name, its key, and the secret key while the relay keeps it.
type Agent struct {
	ID      string // agent id
	PubKey  string // 64 lower-case hex digits
	Sealed  []byte // secret key, sealed by the caller; nil when the agent has it
	Created int64  // Unix seconds; given by the store
}

const (
	agentColumns  = `a.agent_id, a.pubkey, a.sealed, a.created_at`
	sqlAgent      = `SELECT ` + agentColumns + ` FROM contract_agents AS a WHERE a.agent_id = ?`
	sqlAgentOf    = `SELECT ` + agentColumns + ` FROM contract_agents AS a WHERE a.pubkey = ?`
	sqlAgentToken = `SELECT ` + agentColumns + ` FROM contract_tokens AS t JOIN contract_agents AS a USING (agent_id) WHERE t.hash = ?`
	sqlAgents     = `SELECT count(*) FROM contract_agents`
	sqlAddAgent   = `INSERT INTO contract_agents(agent_id, pubkey, sealed, created_at) VALUES (?, ?, ?, ?)`
	sqlWipeAgent  = `UPDATE contract_agents SET sealed = NULL WHERE agent_id = ? AND sealed = ?`
	sqlAddToken   = `INSERT INTO contract_tokens(hash, agent_id, created_at) VALUES (?, ?, ?)`
	sqlDropTokens = `DELETE FROM contract_tokens WHERE agent_id = ?`
	sqlDropAgent  = `DELETE FROM contract_agents WHERE agent_id = ?`
	sqlNameGone   = `INSERT INTO contract_names_gone(agent_id, owner) VALUES (?, ?) ON CONFLICT (agent_id) DO UPDATE SET owner = excluded.owner`
	sqlGoneOwner  = `SELECT owner FROM contract_names_gone WHERE agent_id = ?`
	sqlNameBack   = `DELETE FROM contract_names_gone WHERE agent_id = ?`
)

// AgentByID finds an identity by its agent id, nil for none.
func (s *Store) AgentByID(ctx context.Context, id string) (*Agent, error) {
	return s.agent(ctx, sqlAgent, id)
}

// AgentByKey finds the identity of a key in hex, nil for none.
func (s *Store) AgentByKey(ctx context.Context, pubkey string) (*Agent, error) {
	blob, ok := lowerHex32(pubkey)
	if !ok {
		return nil, nil
	}
	return s.agent(ctx, sqlAgentOf, blob)
}

// AgentByToken finds the identity that a bearer token was issued for, by the token's hash; nil for none.
func (s *Store) AgentByToken(ctx context.Context, hash [32]byte) (*Agent, error) {
	return s.agent(ctx, sqlAgentToken, hash[:])
}

func (s *Store) agent(ctx context.Context, text string, arg driver.Value) (found *Agent, err error) {
	err = s.read(ctx, lookUp, func(ctx context.Context, c *conn) error {
		return c.query(ctx, text, []driver.Value{arg}, func(v []driver.Value) error {
			found, err = scanAgent(v)
			return err
		})
	})
	return found, err
}

func scanAgent(v []driver.Value) (*Agent, error) {
	a := &Agent{PubKey: hexOf(v[1])}
	var ok1, ok2 bool
	a.ID, ok1 = v[0].(string)
	a.Created, ok2 = v[3].(int64)
	a.Sealed, _ = v[2].([]byte)
	if !ok1 || !ok2 || len(a.PubKey) != 64 {
		return nil, fmt.Errorf("identity of an agent: %w", errStoredRow)
	}
	return a, nil
}

// AddAgent stores an identity, with the hash of its first bearer token when the relay keeps its key (Sealed), and reports
// it as it is stored. Binding a key to the name that it has is no error and changes nothing. The error is ErrNameTaken,
// ErrKeyNamed or ErrAgentsFull.
func (s *Store) AddAgent(ctx context.Context, a Agent, token [32]byte) (stored Agent, err error) {
	pubkey, ok := lowerHex32(a.PubKey)
	if !ok || a.ID == "" {
		return Agent{}, errors.New("an identity is a name and a pubkey")
	}
	err = s.do(ctx, func(w *writer) error {
		named, err := w.agent(sqlAgent, a.ID)
		if err != nil {
			return err
		}
		if named != nil {
			if named.PubKey != a.PubKey || a.Sealed != nil {
				return ErrNameTaken
			}
			stored = *named
			return nil
		}
		if err := w.comesBack(a.ID, pubkey); err != nil {
			return err
		}
		if err := w.roomForAgent(pubkey); err != nil {
			return err
		}
		stored = a
		stored.Created = w.now
		if _, err := w.exec(sqlAddAgent, a.ID, pubkey, bytesOrNil(a.Sealed), w.now); err != nil {
			return err
		}
		if a.Sealed == nil {
			return nil
		}
		_, err = w.exec(sqlAddToken, token[:], a.ID, w.now)
		return err
	})
	if err != nil {
		return Agent{}, err
	}
	return stored, nil
}

// comesBack refuses the name of an agent who vanished to every other key.
func (w *writer) comesBack(id string, pubkey []byte) error {
	row, err := w.c.one(sqlGoneOwner, id)
	if err != nil || row == nil {
		return err
	}
	if owner, _ := row[0].([]byte); !bytes.Equal(owner, ownerOf(id, pubkey)) {
		return ErrNameTaken
	}
	_, err = w.exec(sqlNameBack, id)
	return err
}

// ownerOf stands for the key of a name that is gone.
func ownerOf(id string, pubkey []byte) []byte {
	sum := sha256.Sum256(slices.Concat([]byte(id), []byte{0}, pubkey))
	return sum[:]
}

// vanishAgent forgets the identity of an author who asked for that, if it is not younger than the request: key, kept or
// not, and tokens. That the name was somebody's stays.
func (w *writer) vanishAgent(pubkey []byte, until int64) error {
	a, err := w.agent(sqlAgentOf, pubkey)
	if err != nil || a == nil || a.Created > until {
		return err
	}
	if _, err := w.exec(sqlNameGone, a.ID, ownerOf(a.ID, pubkey)); err != nil {
		return err
	}
	if _, err := w.exec(sqlDropTokens, a.ID); err != nil {
		return err
	}
	_, err = w.exec(sqlDropAgent, a.ID)
	return err
}

// roomForAgent refuses a key that has a name, and one identity too many.
func (w *writer) roomForAgent(pubkey []byte) error {
	keyed, err := w.agent(sqlAgentOf, pubkey)
	if err != nil {
		return err
	}
	if keyed != nil {
		return ErrKeyNamed
	}
	n, err := w.c.number(sqlAgents)
	if err == nil && n >= maxAgents {
		err = ErrAgentsFull
	}
	return err
}

func (w *writer) agent(text string, arg driver.Value) (*Agent, error) {
	row, err := w.c.one(text, arg)
	if err != nil || row == nil {
		return nil, err
	}
	return scanAgent(row)
}

// ReplaceToken makes the token with this hash the only one of an identity whose key is kept. The error is ErrNotHeld when
// there is none.
func (s *Store) ReplaceToken(ctx context.Context, id string, hash [32]byte) error {
	return s.do(ctx, func(w *writer) error {
		a, err := w.agent(sqlAgent, id)
		if err != nil {
			return err
		}
		if a == nil || a.Sealed == nil {
			return ErrNotHeld
		}
		if _, err := w.exec(sqlDropTokens, id); err != nil {
			return err
		}
		_, err = w.exec(sqlAddToken, hash[:], id, w.now)
		return err
	})
}

// ForgetKey wipes the sealed key of an identity and revokes its tokens; name and pubkey stay. Of several calls one
// succeeds: sealed is what the caller has read and must be what is there. The error is ErrNotHeld otherwise.
func (s *Store) ForgetKey(ctx context.Context, id string, sealed []byte) error {
	if len(sealed) == 0 {
		return ErrNotHeld
	}
	return s.do(ctx, func(w *writer) error {
		n, err := w.exec(sqlWipeAgent, id, sealed)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrNotHeld
		}
		_, err = w.exec(sqlDropTokens, id)
		return err
	})
}

const (
	sqlVaultCheck = `SELECT value FROM meta WHERE key = 'contracts_key'`
	// Private entries (form 2) are found in the small index of what is no event of the relay.
	sqlAnySealed = `SELECT EXISTS (SELECT 1 FROM contract_agents WHERE sealed IS NOT NULL) OR
		EXISTS (SELECT 1 FROM contract_entries INDEXED BY contract_entries_private WHERE seq IS NULL AND form = 2)`
)

// ErrOtherVault means that something is sealed with another master key.
var ErrOtherVault = errors.New("the database has what is sealed with another master key")

// VaultCheck is the check value of the master key with which something in this database is sealed; nil when nothing is.
func (s *Store) VaultCheck(ctx context.Context) (check []byte, err error) {
	err = s.snapshot(ctx, lookUp, func(ctx context.Context, c *conn) error {
		if sealed, err := c.number(sqlAnySealed); err != nil || sealed == 0 {
			return err
		}
		return c.query(ctx, sqlVaultCheck, nil, func(v []driver.Value) error {
			check, _ = v[0].([]byte)
			return nil
		})
	})
	return check, err
}

// SetVaultCheck remembers the master key's check value, and reports whether it is a new one. The error is ErrOtherVault
// when something is sealed with another key.
func (s *Store) SetVaultCheck(ctx context.Context, check []byte) (changed bool, err error) {
	err = s.do(ctx, func(w *writer) error {
		row, err := w.c.one(sqlVaultCheck)
		if err != nil {
			return err
		}
		if row != nil {
			if have, _ := row[0].([]byte); bytes.Equal(have, check) {
				return nil
			}
			if sealed, err := w.c.number(sqlAnySealed); err != nil {
				return err
			} else if sealed != 0 {
				return ErrOtherVault
			}
		}
		changed = true
		return w.setMeta("contracts_key", check)
	})
	return changed && err == nil, err
}
