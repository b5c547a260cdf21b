package state

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// Queued is a write that waits until a relay answers.
type Queued struct {
	N    int64  // its place
	ID   string // 12 lower-case hex digits, drawn when it is put
	Slug string
	Data []byte // in the words of whoever wrote it
	At   time.Time
	// Sent is the id of the event that it was signed as, while nobody knows what became
	// of that; "" for none.
	Sent   string
	Reason string // why it was not taken when it was sent last; "" for none
}

// Put queues a write behind the newest one of its slug, which must be the one at the
// place after, 0 for none: ErrOvertaken. ErrOutboxFull says that no more can wait. One
// with an id that is there already, as an imported one may be, is left as it is.
func (s Outbox) Put(ctx context.Context, q Queued, after int64) (Queued, error) {
	if err := fits(q.Slug); err != nil {
		return q, err
	}
	if q.ID == "" {
		var id [6]byte
		_, _ = rand.Read(id[:])
		q.ID = hex.EncodeToString(id[:])
	}
	err := s.write(ctx, func(tx *sealedfile.Tx) error {
		if tx.Has("SELECT 1 FROM outbox WHERE id = ?", q.ID) {
			return nil
		}
		if tx.Int("SELECT coalesce(max(n), 0) FROM outbox WHERE slug = ?", q.Slug) != after {
			return ErrOvertaken
		}
		if tx.Int("SELECT count(*) FROM outbox") >= MaxQueued || tx.Int("SELECT coalesce(sum(size), 0) FROM outbox")+int64(len(q.Data)) > MaxQueuedSize {
			return ErrOutboxFull
		}
		tx.Exec("INSERT INTO outbox (id, slug, data, size, at, sent, reason) VALUES (?, ?, ?, ?, ?, ?, ?)",
			q.ID, q.Slug, append([]byte{}, q.Data...), len(q.Data), q.At.UnixMilli(), q.Sent, q.Reason)
		q.N = tx.Int("SELECT last_insert_rowid()")
		return nil
	})
	return q, err
}

// All returns what waits, in its order; with a slug, what waits at that.
func (s Outbox) All(ctx context.Context, slug string) ([]Queued, error) {
	return list(ctx, s.db, func(r sealedfile.Row) Queued {
		return Queued{N: r.Int(0), ID: r.Text(1), Slug: r.Text(2), Data: r.Blob(3), At: time.UnixMilli(r.Int(4)).UTC(), Sent: r.Text(5), Reason: r.Text(6)}
	}, "SELECT n, id, slug, data, at, sent, reason FROM outbox WHERE ?1 IN ('', slug) ORDER BY n", slug)
}

// Mark is what of an outbox changes with the writes that wait: how many there are, and
// the place of the newest.
type Mark struct{ Count, Last int64 }

// Mark returns it, which costs little.
func (s Outbox) Mark(ctx context.Context) (m Mark, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		for r := range tx.Rows("SELECT count(*), coalesce(max(n), 0) FROM outbox") {
			m = Mark{r.Int(0), r.Int(1)}
		}
		return nil
	})
	return m, err
}

// Signed notes the event that writes are about to be sent as, by their ids: all of
// them, or none.
func (s Outbox) Signed(ctx context.Context, event string, ids ...string) error {
	return s.each(ctx, ids, "UPDATE outbox SET sent = ?2, reason = '' WHERE id = ?1", event)
}

// Refused notes why writes were not taken: they are stored nowhere.
func (s Outbox) Refused(ctx context.Context, reason string, ids ...string) error {
	return s.each(ctx, ids, "UPDATE outbox SET sent = '', reason = ?2 WHERE id = ?1", reason)
}

// Held notes why it is not known what became of writes, or why they are not sent.
func (s Outbox) Held(ctx context.Context, reason string, ids ...string) error {
	return s.each(ctx, ids, "UPDATE outbox SET reason = ?2 WHERE id = ?1", reason)
}

// Remove drops writes by their ids.
func (s Outbox) Remove(ctx context.Context, ids ...string) error {
	return s.each(ctx, ids, "DELETE FROM outbox WHERE id = ?1 AND ?2 = ''", "")
}

func (s Outbox) each(ctx context.Context, ids []string, do, with string) error {
	if len(ids) > MaxQueued {
		return fmt.Errorf("%w: %d writes", ErrTooLarge, len(ids))
	}
	with = strings.ToValidUTF8(with[:min(len(with), maxName)], "")
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, id := range ids {
			tx.Exec(do, id, with)
		}
		return nil
	})
}
