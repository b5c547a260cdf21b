package state

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/writerlog"
)

// Kept reports whether a state of the pair lies in a folder: Open begins none then.
func (p Pair) Kept(dir string) bool {
	path, _, err := p.file(dir)
	if err == nil {
		_, err = os.Lstat(path)
	}
	return err == nil || errors.Is(err, fs.ErrPermission)
}

// Addresses returns the addresses of the events of a log's numbers from one on, at most
// that many: in the order of IDs, and zero where one is not known.
func (s Links) Addresses(ctx context.Context, w string, from int64, most int) ([]writerlog.Hash, error) {
	return list(ctx, s.db, func(r sealedfile.Row) (d writerlog.Hash) {
		copy(d[:], r.Raw(0))
		return d
	}, "SELECT d FROM links WHERE w = ? AND n >= ? ORDER BY n LIMIT ?", w, from, most)
}

// Ends returns which of a log's numbers from one on, at most that many, expire.
func (s Links) Ends(ctx context.Context, w string, from int64, most int) ([]writerlog.End, error) {
	return list(ctx, s.db, func(r sealedfile.Row) writerlog.End { return writerlog.End{r.Int(0), r.Int(1)} },
		"SELECT n, expires FROM links WHERE w = ? AND n >= ? AND n < ? AND expires BETWEEN 1 AND 9999999999 ORDER BY n", w, from, from+int64(most))
}

// maxLogs bounds the logs of which is kept how far they are accounted for.
const maxLogs = 4096

// Accounted returns of logs up to which number all are of other addresses than the
// core's.
func (s Links) Accounted(ctx context.Context) (until map[string]int64, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		until = map[string]int64{}
		for r := range tx.Rows("SELECT w, n FROM accounted") {
			until[r.Text(0)] = r.Int(1)
		}
		return nil
	})
	return until, err
}

// SetAccounted notes what Accounted returns; beyond maxLogs nothing.
func (s Links) SetAccounted(ctx context.Context, until map[string]int64) error {
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for w, n := range until {
			tx.Exec("INSERT INTO accounted SELECT ?1, ?2 WHERE (SELECT count(*) FROM accounted) < ?3 ON CONFLICT (w) DO UPDATE SET n = max(n, ?2)", w, n, maxLogs)
		}
		return nil
	})
}
