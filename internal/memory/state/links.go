package state

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/writerlog"
)

// Fate is what became of an event that a number of the log was taken for.
type Fate int

// The fates. Only Stored is for good.
const (
	Sending Fate = iota // it is being sent, or whoever sent it was killed
	Stored              // a relay said that it has it
	Unknown             // it was sent, and a relay did not answer
	Void                // every relay said that it does not have it
)

// Log is this writer's log.
type Log struct {
	W     string // "" while nothing was written
	Next  int64  // the number that is taken next
	Units int64  // log units that were written
	At    int64  // the greatest created_at of its events, in Unix seconds
}

// Link is a number that was taken.
type Link struct {
	W     string
	N     int64
	ID    string // of the event: 64 lower-case hex digits
	Taken time.Time
	Fate  Fate
	Event []byte // as it was signed, while its fate is open; nil then
}

// Sealed is an event that takes a number.
type Sealed struct {
	ID    string // 64 lower-case hex digits; "" takes no number
	D     string // its address, 64 lower-case hex digits; "" is not kept
	At    int64  // created_at, in Unix seconds
	Event []byte // as it was signed
	// Tombstone says that it removes what is at its address; Expires is when it may be
	// dropped (NIP-40), in Unix seconds, 0 for never.
	Tombstone bool
	Expires   int64
}

// ErrNoLog says that the log was not begun.
var ErrNoLog = errors.New("the writer's log is not begun")

// Log returns the log that this writer writes now.
func (s Links) Log(ctx context.Context) (log Log, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error { log, _ = readLog(tx); return nil })
	return log, err
}

func readLog(tx *sealedfile.Tx) (log Log, first string) {
	for r := range tx.Rows("SELECT w, next, units, first, at FROM log") {
		log, first = Log{W: r.Text(0), Next: r.Int(1), Units: r.Int(2), At: r.Int(4)}, r.Text(3)
	}
	return log, first
}

// Begin begins a new log, if the present one is still the one named ("" for
// none). What its first link is to come after is kept until that is written.
func (s Links) Begin(ctx context.Context, instead string, after []writerlog.Head, random io.Reader) error {
	var w [4]byte
	if _, err := io.ReadFull(random, w[:]); err != nil {
		return fmt.Errorf("draw a log's name: %w", err)
	}
	first, err := json.Marshal(after)
	if err != nil {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		if log, _ := readLog(tx); log.W != instead {
			return nil
		}
		tx.Exec("DELETE FROM tree")
		return tx.Exec("INSERT INTO log VALUES (1, ?1, 0, 0, ?2, 0) ON CONFLICT (one) DO UPDATE SET w = ?1, next = 0, units = 0, first = ?2, at = 0",
			hex.EncodeToString(w[:]), string(first))
	})
}

// Take takes a number for each of the events that seal makes, in their
// order, and keeps them, all or none of them; seal is given a link that lacks T
// alone. The error is seal's, or ErrNoLog.
func (s Links) Take(ctx context.Context, count int, seal func(i int, l writerlog.Link) (Sealed, error)) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		log, first := readLog(tx)
		if log.W == "" {
			return ErrNoLog
		}
		t := taking{tx: tx, w: log.W, next: log.Next, from: log.Next, now: s.now().UnixMilli()}
		if err := json.Unmarshal([]byte(first), &t.after); err != nil {
			return fmt.Errorf("what the log comes after: %w", err)
		}
		for r := range tx.Rows(openNumbers, log.W) {
			t.open = append(t.open, r.Int(0))
		}
		for i := range count {
			if err := t.one(i, seal); err != nil {
				return err
			}
		}
		return tx.Exec("UPDATE log SET next = ?, at = max(at, ?)", t.next, t.at)
	})
}

// links_open has no number that is stored, and SQLite must be told to use it: it
// takes w for the better choice, of which all numbers are.

// openNumbers are those of which a later event may not say that they are settled.
const openNumbers = `SELECT n FROM links INDEXED BY links_open WHERE fate <> 1 AND w = ?1 AND (fate <> 3 OR named IS NULL OR
	named IN (SELECT n FROM links WHERE fate <> 1 AND w = ?1)) ORDER BY n`

// taking is Take within its transaction.
type taking struct {
	tx    *sealedfile.Tx
	w     string
	next  int64
	now   int64
	at    int64 // the greatest created_at
	after []writerlog.Head
	from  int64   // the first number of this transaction
	open  []int64 // numbers before it that are neither stored, nor named as void by an event that is
}

func (t *taking) one(i int, seal func(int, writerlog.Link) (Sealed, error)) error {
	l := writerlog.Link{W: t.w, N: t.next}
	if l.N == 0 {
		l.After = t.after
	}
	last := int64(0)
	for r := range t.tx.Rows("SELECT id, at FROM links WHERE w = ? AND n = ?", t.w, t.next-1) {
		l.Prev, last = hex.EncodeToString(r.Raw(0)), r.Int(1)
	}
	var told any // the last of them
	for r := range t.tx.Rows(endsBehind, t.w, t.next-endsWithin, t.next-1, last-endsAgain, writerlog.MaxEnds) {
		l.Ends, told = append(l.Ends, writerlog.End{r.Int(0), r.Int(1)}), r.Int(0)
	}
	tree := storedTree{t.tx, t.w}
	root, err := tlog.TreeHash(t.next, tree)
	if err != nil {
		return err
	}
	l.Root = root
	for r := range t.tx.Rows("SELECT n, id FROM links INDEXED BY links_open WHERE fate <> 1 AND fate = 3 AND named IS NULL AND w = ?1 ORDER BY n LIMIT ?2", t.w, writerlog.MaxVoid) {
		l.Void = append(l.Void, writerlog.Num{N: r.Int(0), ID: hex.EncodeToString(r.Raw(1))})
	}
	if t.tx.Err() != nil {
		return t.tx.Err() // nothing is signed
	}
	l.Open = t.unknown(l.Void)
	e, err := seal(i, l)
	if err != nil || e.ID == "" {
		return err
	}
	raw, ok := writerlog.ParseID(e.ID)
	if !ok {
		return fmt.Errorf("an event's id of %d bytes", len(e.ID))
	}
	var d any
	if at, ok := writerlog.ParseID(e.D); ok {
		d = at[:]
	}
	for _, v := range l.Void {
		t.tx.Exec("UPDATE links SET named = ? WHERE w = ? AND n = ?", l.N, t.w, v.N)
	}
	t.tx.Exec("INSERT INTO links VALUES (?1, ?2, ?3, ?4, ?5, 0, NULL, ?6, 0, ?7, ?8, ?9, ?9, ?10)", t.w, l.N, raw[:], e.At, t.now, string(e.Event), d, e.Tombstone, e.Expires, told)
	more, err := tlog.StoredHashesForRecordHash(t.next, writerlog.Leaf(raw), tree)
	if err != nil {
		return err
	}
	for k, h := range more {
		t.tx.Exec("INSERT INTO tree VALUES (?, ?, ?)", t.w, tlog.StoredHashIndex(0, t.next)+int64(k), h[:])
	}
	t.next++
	t.at = max(t.at, e.At)
	return t.tx.Err()
}

const (
	// endsWithin is how many numbers before it an event looks at for those that expire:
	// log units say it of the rest.
	endsWithin = 4096
	// endsAgain is for how long before the event before it, in seconds: that may be void.
	endsAgain = 24 * 60 * 60
	// endsBehind selects those that expire, in that order: from behind the last one that the
	// newest event told of which is not void, and then from the first on.
	endsBehind = `SELECT n, expires FROM links WHERE w = ?1 AND n BETWEEN ?2 AND ?3 AND expires > ?4 ORDER BY coalesce((expires, n) <=
		(SELECT o.expires, o.n FROM links o WHERE o.w = ?1 AND o.n = (SELECT told FROM links WHERE w = ?1 AND n BETWEEN ?2 AND ?3 AND fate <> 3 ORDER BY n DESC LIMIT 1)), 0),
		expires, n LIMIT ?5`
)

// unknown returns the numbers that are neither stored, nor named as void by an
// event that is, but for those that the next link names; those that were taken in
// this transaction are among them.
func (t *taking) unknown(void []writerlog.Num) []writerlog.Span {
	spans := writerlog.Spans(slices.DeleteFunc(slices.Clone(t.open), func(n int64) bool {
		return slices.ContainsFunc(void, func(v writerlog.Num) bool { return v.N == n })
	}))
	if t.next == t.from {
		return spans
	}
	if k := len(spans) - 1; k >= 0 && (spans[k].To+1 == t.from || k+1 == writerlog.MaxOpen) {
		spans[k].To = t.next - 1
		return spans
	}
	return append(spans, writerlog.Span{From: t.from, To: t.next - 1})
}

// storedTree reads the hashes of a tree.
type storedTree struct {
	tx *sealedfile.Tx
	w  string
}

// ReadHashes implements tlog.HashReader.
func (t storedTree) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for k, i := range at {
		found := false
		for r := range t.tx.Rows("SELECT hash FROM tree WHERE w = ? AND i = ?", t.w, i) {
			found = copy(out[k][:], r.Raw(0)) > 0
		}
		if !found {
			t.tx.Fail(errors.New("a hash of the log's tree is missing"))
		}
	}
	return out, t.tx.Err()
}

// Settle notes what became of events that are not known to be stored (Took), by their
// ids. What is stored stays so, and what a void event has named as void is to be named
// again. Ids that are not of a log are left.
func (s Links) Settle(ctx context.Context, fate Fate, ids ...string) error {
	if len(ids) > maxAtOnce {
		return fmt.Errorf("%w: %d events at once", ErrTooLarge, len(ids))
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, id := range ids {
			raw, ok := writerlog.ParseID(id)
			if !ok {
				continue
			}
			tx.Exec("UPDATE links SET fate = ?1, event = CASE WHEN ?1 IN (0, 2) THEN event END WHERE id = ?2 AND fate <> 1", int(fate), raw[:])
			if fate == Void && tx.Changed() > 0 {
				tx.Exec("UPDATE links SET named = NULL WHERE fate <> 1 AND fate = 3 AND (w, named) IN (SELECT w, n FROM links WHERE id = ?)", raw[:])
			}
		}
		return nil
	})
}

// Open returns numbers whose events may be stored or not: those of Unknown
// fate, and those that were taken before a time and that nobody has settled since;
// the oldest first, at most maxAtOnce.
func (s Links) Open(ctx context.Context, before time.Time) ([]Link, error) {
	return s.list(ctx, "fate = 2 OR fate = 0 AND taken < ?1", before.UnixMilli())
}

// Void returns the numbers that are void and that no event names as that,
// of the present log.
func (s Links) Void(ctx context.Context) ([]Link, error) {
	return s.list(ctx, "fate = 3 AND named IS NULL AND ?1 = 0 AND w = (SELECT w FROM log)", 0)
}

func (s Links) list(ctx context.Context, which string, arg any) ([]Link, error) {
	return list(ctx, s.db, func(r sealedfile.Row) Link {
		l := Link{W: r.Text(0), N: r.Int(1), ID: hex.EncodeToString(r.Raw(2)), Taken: time.UnixMilli(r.Int(3)).UTC(), Fate: Fate(r.Int(4))}
		if !r.Null(5) {
			l.Event = []byte(r.Text(5))
		}
		return l
	}, "SELECT w, n, id, taken, fate, event FROM links INDEXED BY links_open WHERE fate <> 1 AND ("+which+") ORDER BY w, n LIMIT ?2", arg, maxAtOnce)
}

// NamedVoid notes that a log unit names numbers of the present log as void.
func (s Links) NamedVoid(ctx context.Context, numbers []int64) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, n := range numbers {
			tx.Exec("UPDATE links SET named = -1 WHERE fate = 3 AND n = ? AND w = (SELECT w FROM log)", n)
		}
		return nil
	})
}

// IDs returns the ids of a log's numbers from one on, at most that many.
func (s Links) IDs(ctx context.Context, w string, from int64, most int) ([]writerlog.Hash, error) {
	return list(ctx, s.db, func(r sealedfile.Row) (id writerlog.Hash) {
		copy(id[:], r.Raw(0))
		return id
	}, "SELECT id FROM links WHERE w = ? AND n >= ? ORDER BY n LIMIT ?", w, from, most)
}

// UnitWritten notes that the log's units before k are written.
func (s Links) UnitWritten(ctx context.Context, w string, k int64) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		return tx.Exec("UPDATE log SET units = max(units, ?) WHERE w = ?", k, w)
	})
}
