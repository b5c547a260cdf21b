package relay

import (
	"bytes"
	"context"

	"engramd/internal/store"
)

// Stream gives the stored events of one request page by page: first those of
// search filters (best match first), then all others merged newest first, ties
// by lowest id. Each event comes once. Between pages it holds nothing open.
type Stream struct {
	relay   *Relay
	from    Instant
	hits    []*hitSource
	merged  []*source
	shown   map[[32]byte]struct{} // ids given by search filters
	last    [32]byte              // id given last by the merge
	any     bool
	more    bool
	unknown bool // a filter asked for no stored events (limit 0)
}

// source is one filter of the merge.
type source struct {
	ask   store.Ask
	left  int // rows its limit still allows
	rows  []store.Row
	ended bool
}

// hitSource is one search filter.
type hitSource struct {
	ask  store.Ask
	hits *store.Hits
	left int
}

// Instant is a state of the memory that a reader asks about.
type Instant struct {
	Seq      int64 // the newest arrival to show
	restores int64 // that had taken effect
}

// Now is the state that every query can see.
func (r *Relay) Now() Instant {
	restores := r.store.Restores() // first: what it brings is below no number taken before it
	return Instant{Seq: r.store.LastSeq(), restores: restores}
}

// Stored opens the stored part of an authorized request at an instant (Now, taken
// after the subscription was registered). When a snapshot is restored before the
// last page was read, pages of two states would come together: that is
// ErrRestored instead.
func (r *Relay) Stored(granted []Granted, at Instant) *Stream {
	st := &Stream{relay: r, from: at}
	limits := r.limits.Load()
	for _, g := range granted {
		if g.Filter.LimitZero {
			st.unknown = true
			continue
		}
		limit := g.Filter.Limit
		if limit <= 0 {
			limit = limits.DefaultLimit
		}
		limit = min(limit, limits.MaxLimit)
		ask := store.Ask{Scope: g.Scope, Filter: g.Filter, Ceiling: at.Seq}
		if g.Filter.Search != "" {
			ask.MaxRows = limit
			st.hits = append(st.hits, &hitSource{ask: ask, left: limit})
			continue
		}
		st.merged = append(st.merged, &source{ask: ask, left: limit})
	}
	return st
}

// Next returns up to maxRows rows of about maxBytes of JSON together, at least
// one unless the stream is done. After done nothing follows. An error means the
// answer is incomplete and must be said to be.
func (st *Stream) Next(ctx context.Context, maxRows, maxBytes int) (rows []store.Row, done bool, err error) {
	if rows, done, err = st.next(ctx, maxRows, maxBytes); err != nil {
		return nil, false, err
	}
	if err := st.relay.unrestored(ctx, st.from); err != nil {
		return nil, false, err
	}
	return rows, done, nil
}

// unrestored is ErrRestored when a restore took effect since an instant.
func (r *Relay) unrestored(ctx context.Context, since Instant) error {
	moved, err := r.store.RestoredSince(ctx, since.restores)
	if err == nil && moved {
		err = ErrRestored
	}
	return err
}

func (st *Stream) next(ctx context.Context, maxRows, maxBytes int) (rows []store.Row, done bool, err error) {
	if len(st.hits) > 0 {
		return st.nextHits(ctx, maxRows, maxBytes)
	}
	if len(st.merged) == 1 && st.shown == nil {
		return st.nextSingle(ctx, maxRows, maxBytes)
	}
	return st.nextMerged(ctx, maxRows, maxBytes)
}

// More reports, after the last page, that the relay holds matching events which
// a limit kept back; Complete, that it gave every one (NIP-67).
func (st *Stream) More() bool { return st.more }

// Complete reports whether every stored match was given.
func (st *Stream) Complete() bool { return !st.more && !st.unknown }

// nextSingle passes the pages of the only filter through.
func (st *Stream) nextSingle(ctx context.Context, maxRows, maxBytes int) ([]store.Row, bool, error) {
	src := st.merged[0]
	if err := src.fill(ctx, st, maxRows, maxBytes); err != nil {
		return nil, false, err
	}
	rows := src.rows
	src.rows = nil
	src.left -= len(rows)
	return rows, src.ended, nil
}

func (st *Stream) nextMerged(ctx context.Context, maxRows, maxBytes int) ([]store.Row, bool, error) {
	var out []store.Row
	size := 0
	for len(out) < maxRows && (size < maxBytes || len(out) == 0) {
		row, found, err := st.pop(ctx, maxRows, maxBytes)
		if err != nil {
			return nil, false, err
		}
		if !found {
			return out, true, nil
		}
		if _, given := st.shown[row.ID]; given || (st.any && row.ID == st.last) {
			continue
		}
		st.any, st.last = true, row.ID
		out = append(out, row)
		size += len(row.JSON)
	}
	return out, false, nil
}

// pop takes the newest row over all sources.
func (st *Stream) pop(ctx context.Context, maxRows, maxBytes int) (store.Row, bool, error) {
	var best *source
	for _, src := range st.merged {
		if len(src.rows) == 0 && !src.ended {
			if err := src.fill(ctx, st, maxRows, maxBytes/len(st.merged)); err != nil {
				return store.Row{}, false, err
			}
		}
		if len(src.rows) > 0 && (best == nil || before(src.rows[0], best.rows[0])) {
			best = src
		}
	}
	if best == nil {
		return store.Row{}, false, nil
	}
	row := best.rows[0]
	best.rows = best.rows[1:]
	best.left--
	return row, true, nil
}

// before is the order of NIP-01: newest first, ties by lowest id.
func before(a, b store.Row) bool {
	if a.CreatedAt != b.CreatedAt {
		return a.CreatedAt > b.CreatedAt
	}
	return bytes.Compare(a.ID[:], b.ID[:]) < 0
}

// fill asks the store for the source's next page: one row more than the limit
// allows, because only that row tells whether the limit kept anything back.
func (src *source) fill(ctx context.Context, st *Stream, maxRows, maxBytes int) error {
	src.ask.MaxRows = min(maxRows, src.left+1)
	src.ask.MaxBytes = maxBytes
	page, err := st.relay.store.Query(ctx, src.ask)
	if err != nil {
		return err
	}
	src.rows = page.Rows
	switch {
	case len(src.rows) > src.left:
		src.rows = src.rows[:src.left]
		src.ended, st.more = true, true
	case !page.More:
		src.ended = true
	}
	if n := len(src.rows); n > 0 {
		last := src.rows[n-1]
		src.ask.After = &store.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
	return nil
}

// nextHits gives the next page of the first search filter that has one.
func (st *Stream) nextHits(ctx context.Context, maxRows, maxBytes int) ([]store.Row, bool, error) {
	if st.shown == nil {
		st.shown = make(map[[32]byte]struct{})
	}
	src := st.hits[0]
	if src.hits == nil {
		hits, err := st.relay.store.Search(ctx, src.ask)
		if err != nil {
			return nil, false, err
		}
		src.hits = hits
	}
	page, err := src.hits.Next(ctx, maxRows, maxBytes)
	if err != nil {
		return nil, false, err
	}
	rows := page.Rows[:0:0]
	for _, row := range page.Rows {
		if _, given := st.shown[row.ID]; !given {
			st.shown[row.ID] = struct{}{}
			rows = append(rows, row)
		}
	}
	if !page.More {
		st.more = st.more || src.hits.Cut()
		st.hits = st.hits[1:]
	}
	return rows, len(st.hits) == 0 && len(st.merged) == 0, nil
}

// Count is the exact number of distinct events that the filters match and the
// reader may know of (NIP-45). It ignores limit.
func (r *Relay) Count(ctx context.Context, granted []Granted) (int64, error) {
	asks := make([]store.Ask, len(granted))
	for i, g := range granted {
		asks[i] = store.Ask{Scope: g.Scope, Filter: g.Filter}
	}
	return r.store.Count(ctx, asks)
}
