package state

import (
	"context"

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
