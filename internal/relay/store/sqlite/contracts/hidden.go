package contracts

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// Those for whom a hash stands in what outlives events (forget.go), by their
// keys.

const (
	sqlIsForgotten = `SELECT 1 FROM contract_forgotten WHERE contract = ? AND party = ?`
	sqlHidden      = `SELECT (SELECT value FROM meta WHERE key = 'parties') WHERE EXISTS (SELECT 1 FROM contract_forgotten WHERE contract = ?)`
	// Whom others name under a contract.
	sqlNamedIn = `SELECT DISTINCT other FROM contract_counts WHERE contract = ?1 AND author = ?2
		UNION SELECT m.other FROM contract_threads AS t CROSS JOIN contract_moves AS m ON m.thread = t.thread
			WHERE t.contract = ?1 AND t.a = ?3 AND t.b = ?4
		LIMIT ?5`
)

// partyHash is what stands for a key that is forgotten.
func partyHash(secret, key []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(key)
	return mac.Sum(nil)
}

// standIn is what a key is called in what outlives the events of a contract:
// itself, or the hash that stands for it.
func standIn(c *engine.Conn, contract string, key []byte) ([]byte, error) {
	if key == nil {
		return nil, nil
	}
	secret, err := hidden(c, contract)
	if err != nil || secret == nil {
		return key, err
	}
	party := partyHash(secret, key)
	if known, err := c.Exists(sqlIsForgotten, contract, party); err != nil || !known {
		return key, err
	}
	return party, nil
}

// hidden is the key of the hashes that stand for parties of a contract, nil
// where there are none.
func hidden(c *engine.Conn, contract string) ([]byte, error) {
	return c.Blob(sqlHidden, contract)
}

// standIns is standIn for two keys, the lower one first.
func standIns(c *engine.Conn, contract string, k1, k2 []byte) (a, b []byte, err error) {
	if a, err = standIn(c, contract, k1); err == nil {
		b, err = standIn(c, contract, k2)
	}
	if bytes.Compare(a, b) > 0 {
		a, b = b, a
	}
	return a, b, err
}

// maxNamed is how many keys that are named under a contract are looked through
// for the one a hash stands for.
const maxNamed = 64

// unhide calls the parties of a contract by their keys where others' words
// there, or whoever asks, name them. Where nobody does, the hash stays.
func unhide(ctx context.Context, c *engine.Conn, contract string, poster, worker *string, hints ...string) error {
	secret, err := hidden(c, contract)
	if err != nil || secret == nil {
		return err
	}
	for _, p := range []struct{ hash, other *string }{{poster, worker}, {worker, poster}} {
		hash, ok := column.Hex32(*p.hash)
		if !ok {
			continue
		}
		if known, err := c.Exists(sqlIsForgotten, contract, hash); err != nil || !known {
			if err != nil {
				return err
			}
			continue
		}
		other, named := column.Hex32(*p.other)
		if !named {
			other = hash
		}
		a, b := hash, other
		if bytes.Compare(a, b) > 0 {
			a, b = b, a
		}
		name := ""
		for _, hint := range hints {
			if key, ok := column.Hex32(hint); ok && bytes.Equal(partyHash(secret, key), hash) {
				name = hint
			}
		}
		err := c.Query(ctx, sqlNamedIn, []engine.Value{contract, other, a, b, int64(maxNamed)}, func(v engine.Row) error {
			if bytes.Equal(partyHash(secret, v.Blob(0)), hash) {
				name = v.Hex(0)
				return engine.ErrStop
			}
			return nil
		})
		if err != nil {
			return err
		}
		if name != "" {
			*p.hash = name
		}
	}
	return nil
}

// foundPair reads a pair, nil for none.
func foundPair(ctx context.Context, c *engine.Conn, row engine.Row, hints ...string) (*store.ContractPair, error) {
	if row == nil {
		return nil, nil
	}
	p, err := scanPair(row)
	if err == nil {
		err = unhide(ctx, c, p.Contract, &p.Poster, &p.Worker, hints...)
	}
	return &p, err
}

// pairs reads several pairs.
func pairs(ctx context.Context, c *engine.Conn, text string, args ...engine.Value) ([]store.ContractPair, error) {
	all, err := engine.List(ctx, c, scanPair, text, args...)
	for i := 0; i < len(all) && err == nil; i++ {
		err = unhide(ctx, c, all[i].Contract, &all[i].Poster, &all[i].Worker)
	}
	return all, err
}
