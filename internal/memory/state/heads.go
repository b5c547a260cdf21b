package state

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/writerlog"
)

// Head is the newest event that this machine knows of at an address.
type Head struct {
	D, ID     string // 64 lower-case hex digits
	At        int64  // created_at, in Unix seconds
	Tombstone bool
	Expires   int64  // when it may be dropped (NIP-40), in Unix seconds; 0 for never
	Event     []byte // as it was signed; nil: it is not kept here
}

// newer is NIP-01's rule: the greater time, between equals the lower id.
func (h Head) newer(than Head) bool {
	return than.ID == "" || h.At > than.At || h.At == than.At && h.ID < than.ID
}

// Why is why a version need not be there any more.
type Why int

// The reasons. Of an operator's removal there is one for each relay that said so.
const (
	Accepted Why = iota + 1 // a person gave it up
	Removed                 // a relay says that its operator removed it
	Deleted                 // the agent's key had it deleted, or it has expired
	Expired                 // a relay says that a newer one was there, and has expired
)

// Loss says that versions of an address are lost, up to a time, and why.
type Loss struct {
	Relay string // the one that said so, for Removed and Expired
	At    int64  // of the newest of them, in Unix seconds
	Why   Why
}

// Address is what is known of one.
type Address struct {
	Head   Head // the zero Head: nothing
	Losses []Loss
	// Open are ids of events that were written there, of which nobody knows whether they
	// are stored.
	Open []string
}

// Lost returns why the head need not be there; 0 if nothing says so. What
// relays say counts from one of them on.
func (s Address) Lost() (why Why) {
	for _, l := range s.Losses {
		if l.At >= s.Head.At && (why == 0 || l.Why == Accepted || l.Why == Deleted) {
			why = l.Why
		}
	}
	return why
}

// At returns what is known of an address, 64 lower-case hex digits.
func (s Heads) At(ctx context.Context, d string) (Address, error) {
	all, err := s.Those(ctx, []string{d})
	return all[d], err
}

// Those is At of many addresses, by these.
func (s Heads) Those(ctx context.Context, ds []string) (all map[string]Address, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		all = make(map[string]Address, len(ds))
		for _, d := range ds {
			raw, ok := writerlog.ParseID(d)
			if !ok {
				return fmt.Errorf("an address of %d bytes", len(d))
			}
			all[d] = addressAt(tx, raw[:])
			if err := tx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}

func addressAt(tx *sealedfile.Tx, d []byte) (at Address) {
	for r := range tx.Rows("SELECT d, id, at, tomb, expires FROM links INDEXED BY links_newest WHERE fate = 1 AND d = ? ORDER BY at DESC, id LIMIT 1", d) {
		at.Head = headOf(r)
	}
	for r := range tx.Rows("SELECT d, id, at, tomb, expires, event FROM kept WHERE d = ?", d) {
		if k := headOf(r); k.newer(at.Head) || k.ID == at.Head.ID {
			at.Head = k
			at.Head.Event = []byte(r.Text(5))
		}
	}
	for r := range tx.Rows("SELECT relay, at, why FROM losses WHERE d = ?", d) {
		at.Losses = append(at.Losses, Loss{r.Text(0), r.Int(1), Why(r.Int(2))})
	}
	for r := range tx.Rows("SELECT id FROM links INDEXED BY links_open WHERE fate <> 1 AND fate <> 3 AND d = ? LIMIT 8", d) {
		at.Open = append(at.Open, hex.EncodeToString(r.Raw(0)))
	}
	return at
}

func headOf(r sealedfile.Row) Head {
	return Head{D: hex.EncodeToString(r.Raw(0)), ID: hex.EncodeToString(r.Raw(1)), At: r.Int(2), Tombstone: r.Int(3) != 0, Expires: r.Int(4)}
}

// All returns what is known of every address, by the address, without events.
func (s Heads) All(ctx context.Context) (all map[string]Address, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		all = map[string]Address{}
		// The columns beside max are those of the row that has it.
		for r := range tx.Rows("SELECT d, id, max(at), tomb, expires FROM links INDEXED BY links_newest WHERE fate = 1 AND d IS NOT NULL AND length(d) = 32 GROUP BY d") {
			h := headOf(r)
			all[h.D] = Address{Head: h}
		}
		for r := range tx.Rows("SELECT d, id, at, tomb, expires FROM kept") {
			if k := headOf(r); k.newer(all[k.D].Head) {
				all[k.D] = Address{Head: k}
			}
		}
		for r := range tx.Rows("SELECT d, relay, at, why FROM losses") {
			d := hex.EncodeToString(r.Raw(0))
			at := all[d]
			at.Losses = append(at.Losses, Loss{r.Text(1), r.Int(2), Why(r.Int(3))})
			all[d] = at
		}
		return nil
	})
	return all, err
}

// keepStored keeps an event that a relay took, until the copy has it (Drop).
func keepStored(tx *sealedfile.Tx, id []byte) {
	tx.Exec("INSERT INTO kept SELECT d, id, at, tomb, expires, event FROM links WHERE id = ? AND event IS NOT NULL AND length(d) = 32 "+onlyNewer, id)
}

// follow has the superseded versions at an address expire when the newest of their chain
// does, or by themselves if that is sooner, once a relay took an event there. Where one had
// expired before the next was written, a new chain begins: what went with it stays gone.
func follow(tx *sealedfile.Tx, id []byte) {
	var d []byte
	for r := range tx.Rows("SELECT d FROM links WHERE id = ? AND fate = 1 AND length(d) = 32", id) {
		d = bytes.Clone(r.Raw(0))
	}
	type end struct {
		id []byte
		at int64
	}
	var ends []end
	var now, before chain // before has all but the event
	met := false
	for r := range tx.Rows("SELECT id, at, tag, expires FROM links INDEXED BY links_newest WHERE fate = 1 AND d = ? ORDER BY at DESC, id", d) {
		this, tag := bytes.Equal(r.Raw(0), id), r.Int(2)
		now = now.with(r.Int(1), tag)
		at := now.ends
		if tag > 0 && (at == 0 || tag < at) {
			at = tag
		}
		if at != r.Int(3) {
			ends = append(ends, end{bytes.Clone(r.Raw(0)), at})
		}
		if met = met || this; !this {
			before = before.with(r.Int(1), tag)
		}
		if met && now == before {
			break // nothing changes for what is older
		}
	}
	for _, e := range ends {
		tx.Exec("UPDATE links SET expires = ? WHERE id = ?", e.at, e.id)
	}
}

// chain is what was written at an address since something there had expired, as far as it
// was read, from the newest on.
type chain struct {
	ends, at int64 // when the newest expires, and when the oldest was written
	begun    bool
}

// with is the chain of the version before the oldest.
func (c chain) with(at, tag int64) chain {
	if !c.begun || tag > 0 && tag <= c.at {
		c.ends = tag
	}
	return chain{c.ends, at, true}
}

const onlyNewer = `ON CONFLICT (d) DO UPDATE SET id = excluded.id, at = excluded.at, tomb = excluded.tomb, expires = excluded.expires, event = excluded.event
	WHERE excluded.at > kept.at OR excluded.at = kept.at AND excluded.id < kept.id`

// Keep keeps events as they were signed, so that they can be sent again. Where a
// newer one of the address is kept, that stays.
func (s Heads) Keep(ctx context.Context, heads ...Head) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, h := range heads {
			d, ok := writerlog.ParseID(h.D)
			id, fine := writerlog.ParseID(h.ID)
			if !ok || !fine || len(h.Event) == 0 {
				return fmt.Errorf("an event to be kept is none")
			}
			tx.Exec("INSERT INTO kept VALUES (?, ?, ?, ?, ?, ?) "+onlyNewer, d[:], id[:], h.At, h.Tombstone, h.Expires, string(h.Event))
		}
		return nil
	})
}

// Drop forgets the bytes of events, by their ids: the copy has them, and a relay
// shows them.
func (s Heads) Drop(ctx context.Context, ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, id := range ids {
			if raw, ok := writerlog.ParseID(id); ok {
				tx.Exec("DELETE FROM kept WHERE id = ?", raw[:])
			}
		}
		return nil
	})
}

// Kept returns which events are kept here, the oldest first, without their bytes.
func (s Heads) Kept(ctx context.Context) ([]Head, error) {
	return list(ctx, s.db, headOf, "SELECT d, id, at, tomb, expires FROM kept ORDER BY at")
}

// Lose notes that versions of an address need not be there any more. The bytes of
// what the agent's key had deleted go.
func (s Heads) Lose(ctx context.Context, d string, l Loss) error {
	return s.LoseThose(ctx, map[string]Loss{d: l})
}

// LoseThose is Lose of many addresses, by these.
func (s Heads) LoseThose(ctx context.Context, all map[string]Loss) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for d, l := range all {
			raw, ok := writerlog.ParseID(d)
			if !ok || len(l.Relay) > maxName {
				return fmt.Errorf("%w: a loss", ErrTooLarge)
			}
			tx.Exec("INSERT INTO losses VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET at = max(at, ?3), why = ?4, noted = ?5",
				raw[:], l.Relay, l.At, int(l.Why), s.now().UnixMilli())
			if l.Why == Deleted {
				tx.Exec("DELETE FROM kept WHERE d = ? AND at <= ?", raw[:], l.At)
			}
		}
		return nil
	})
}

// Unlose forgets what relays said of an operator's removal at an address, or an expiry.
func (s Heads) Unlose(ctx context.Context, d string) error {
	raw, ok := writerlog.ParseID(d)
	if !ok {
		return nil
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		return tx.Exec("DELETE FROM losses WHERE d = ? AND why IN (?, ?)", raw[:], int(Removed), int(Expired))
	})
}

// Acts returns the agent's requests to delete and to vanish, as they were signed.
func (s Heads) Acts(ctx context.Context) ([][]byte, error) {
	return list(ctx, s.db, func(r sealedfile.Row) []byte { return []byte(r.Text(0)) }, "SELECT event FROM acts ORDER BY id LIMIT ?", MaxActs)
}

// CountActs is how many Acts returns.
func (s Heads) CountActs(ctx context.Context) (n int, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error { n = int(tx.Int("SELECT count(*) FROM acts")); return nil })
	return n, err
}

// AddActs keeps requests, by their ids. Beyond MaxActs none is.
func (s Heads) AddActs(ctx context.Context, events map[string][]byte) error {
	if len(events) == 0 {
		return nil
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		left := MaxActs - tx.Int("SELECT count(*) FROM acts")
		for id, event := range events {
			if raw, ok := writerlog.ParseID(id); ok && left > 0 {
				tx.Exec("INSERT OR IGNORE INTO acts VALUES (?, ?)", raw[:], string(event))
				left -= tx.Changed()
			}
		}
		return nil
	})
}

// Nowhere returns ids of links whose address is not known, at most maxAtOnce.
func (s Heads) Nowhere(ctx context.Context) ([]string, error) {
	return list(ctx, s.db, func(r sealedfile.Row) string { return hex.EncodeToString(r.Raw(0)) },
		"SELECT id FROM links INDEXED BY links_nowhere WHERE d IS NULL LIMIT ?", maxAtOnce)
}

// Place notes the addresses of links (Head.D, "" for one that is not to be known),
// whether they are tombstones, and when they expire.
func (s Heads) Place(ctx context.Context, links []Head) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, h := range links {
			d, err := hex.DecodeString(h.D)
			if id, ok := writerlog.ParseID(h.ID); ok && err == nil {
				tx.Exec("UPDATE links SET d = ?1, tomb = ?2, expires = ?3, tag = ?3 WHERE id = ?4 AND d IS NULL", append([]byte{}, d...), h.Tombstone, h.Expires, id[:])
			}
		}
		return nil
	})
}
