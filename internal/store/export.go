package store

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
)

// Bounds of one read of Export.
const (
	exportRows  = 512
	exportBytes = 4 << 20
)

// Export gives fn the JSON of every event that the scope shows, without what has expired, in the order of arrival: heads
// and regular events, and with history the superseded versions too, each where it arrived, so that an import in this
// order ends with the same heads. It reads in small pieces and holds nothing open while fn runs: an event that is
// deleted meanwhile may be missing, a head that is replaced meanwhile may come in both versions, and none is lost. fn must
// not keep the slice. The first error of fn ends the export and is returned; others are as of Query, the time limit holding
// for each piece.
func (s *Store) Export(ctx context.Context, scope gate.Scope, history bool, fn func(json []byte) error) error {
	for last := int64(0); ; {
		rows, seq, err := s.exportPage(ctx, scope, history, last)
		if err != nil {
			return err
		}
		if seq == last {
			return nil
		}
		for _, row := range rows {
			if err := fn(row.JSON); err != nil {
				return err
			}
		}
		last = seq
	}
}

// exportPage reads what arrived after the number last and reports the number it came to, last itself at the end.
func (s *Store) exportPage(ctx context.Context, scope gate.Scope, history bool, last int64) (rows []Row, seq int64, err error) {
	defer s.observed("export", time.Now(), &err)
	now := s.clock().Unix()
	var w where
	select1 := func(from source, table string) {
		w.any = false
		w.text("SELECT " + columns(scope, nostr.Filter{}) + " FROM " + table + " AS e WHERE ")
		w.and("e.seq>?", last)
		w.and("(e.expires_at IS NULL OR e.expires_at>?)", now)
		scopeWhere(&w, scope, nostr.Filter{}, from)
	}
	select1(fromEvents, "events")
	if history {
		w.text(" UNION ALL ")
		select1(fromHistory, "history")
	}
	w.text(" ORDER BY 1 LIMIT ?", int64(exportRows))
	seq, size := last, 0
	err = s.read(ctx, func(ctx context.Context, c *conn) error {
		return c.query(ctx, w.sql.String(), w.args, func(v []driver.Value) error {
			var e entry
			if err := e.scan(v); err != nil {
				return err
			}
			seq = e.Seq
			if e.readable(scope) {
				rows = append(rows, e.Row)
			}
			if size += len(e.JSON); size >= exportBytes {
				return errStop
			}
			return nil
		})
	})
	return rows, seq, err
}
