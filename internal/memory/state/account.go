package state

import (
	"context"
	"encoding/hex"
	"os"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/writerlog"
)

// Addresses returns the addresses of the events of a log's numbers from one on, at most
// that many: in the order of IDs, and zero where one is not known.
func (s Links) Addresses(ctx context.Context, w string, from int64, most int) ([]writerlog.Hash, error) {
	return list(ctx, s.db, func(r sealedfile.Row) (d writerlog.Hash) {
		copy(d[:], r.Raw(0))
		return d
	}, "SELECT d FROM links WHERE w = ? AND n >= ? ORDER BY n LIMIT ?", w, from, most)
}

// maxLogs bounds the logs of which is kept how far they are accounted for.
const maxLogs = 4096

// Kept reports whether a state of the pair lies in a folder: Open begins none then.
func (p Pair) Kept(dir string) bool {
	path, _, err := p.file(dir)
	if err == nil {
		_, err = os.Lstat(path)
	}
	return err == nil
}

// Accounting returns what this machine knows that tells whether the core, whose address
// is d, can be absent: of the writer's own links those that are not accounted for. gone
// says that the newest core that is known need not be there: the loss was accepted, or
// the agent's key had it deleted.
func (s Links) Accounting(ctx context.Context, d string) (in writerlog.Accounting, gone bool, err error) {
	raw, _ := writerlog.ParseID(d)
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		in = writerlog.Accounting{D: d, Own: map[string]map[int64]writerlog.Own{}, Known: map[string]int64{}, Attested: map[string]int64{}}
		for r := range tx.Rows("SELECT w, n FROM accounted") {
			in.Known[r.Text(0)] = r.Int(1)
		}
		for r := range tx.Rows("SELECT w, max(n) + 1 FROM links GROUP BY w") {
			in.Attested[r.Text(0)] = r.Int(1)
			in.Own[r.Text(0)] = map[int64]writerlog.Own{}
		}
		for r := range tx.Rows("SELECT l.w, l.n, id, at, fate, d FROM links l LEFT JOIN accounted a ON a.w = l.w WHERE l.n > ifnull(a.n, -1) OR d = ? ORDER BY l.w, l.n LIMIT ?", raw[:], maxOwn) {
			fate := Fate(r.Int(4))
			in.Own[r.Text(0)][r.Int(1)] = writerlog.Own{ID: hex.EncodeToString(r.Raw(2)), D: hex.EncodeToString(r.Raw(5)), At: r.Int(3), Stored: fate == Stored, Void: fate == Void}
		}
		for r := range tx.Rows("SELECT w, n, id, d, at FROM marks") {
			in.Marks = append(in.Marks, writerlog.Mark{W: r.Text(0), N: r.Int(1), ID: r.Text(2), D: r.Text(3), At: r.Int(4)})
		}
		in.Core = tx.Has("SELECT 1 FROM kept WHERE d = ?", raw[:])
		gone = tx.Has(`SELECT 1 FROM losses WHERE d = ?1 AND why IN (?2, ?3) AND at >= ifnull((SELECT max(at) FROM
			(SELECT at FROM links WHERE d = ?1 AND fate <> 3 UNION ALL SELECT at FROM kept WHERE d = ?1)), 0)`, raw[:], int(Accepted), int(Deleted))
		return nil
	})
	return in, gone, err
}

// SetAccounted notes of logs up to which number all are of other addresses than the
// core's. Beyond maxLogs it is not noted.
func (s Links) SetAccounted(ctx context.Context, until map[string]int64) error {
	if len(until) == 0 {
		return nil
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		left := maxLogs - tx.Int("SELECT count(*) FROM accounted")
		for w, n := range until {
			if left > 0 && writerlog.IsLog(w) && !tx.Has("SELECT 1 FROM accounted WHERE w = ?", w) {
				tx.Exec("INSERT INTO accounted VALUES (?, -1)", w)
				left--
			}
			tx.Exec("UPDATE accounted SET n = max(n, ?) WHERE w = ?", n, w)
		}
		return nil
	})
}
