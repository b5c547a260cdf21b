package relay

import (
	"bytes"
	"context"
	"slices"

	"engramd/internal/relay/store"
)

// Stream gives the stored events of one request page by page: first those of
// search filters (best match first), then all others merged newest first, ties
// by lowest id. Each event comes once. Between pages it holds nothing open, and
// so each page is of a state of its own; therefore what arrived while a stream
// was read in several comes at its end, as far as the limits go: of an address
// that has a head all the time, one is given.
type Stream struct {
	relay   *Relay
	from    Instant
	hits    []*hitSource
	merged  []*source
	shown   map[[32]byte]struct{} // ids given by search filters
	last    [32]byte              // id given last by the merge
	any     bool
	again   bool               // the running pass is about what arrived since the last one began
	began   int64              // newest arrival when the running pass began
	late    map[int64]struct{} // arrivals later than the instant that were given
	more    bool
	unknown bool // a filter asked for no stored events (limit 0)
	damaged []store.Damaged
}

// source is one filter of the merge.
type source struct {
	ask   store.Ask
	left  int // rows its limit still allows
	rows  []store.Row
	asked int // states that the pages of the running pass are of
	ended bool
	cut   bool // its limit kept rows back
}

// hitSource is one search filter.
type hitSource struct {
	ask  store.Ask
	hits store.Hits
	left int
}

// Instant is a state of the memory that a reader asks about.
type Instant struct {
	Seq      int64 // the newest arrival then; what comes later may be shown too
	restores int64 // that had taken effect
}

// Now returns a state that no query is older than.
func (r *Relay) Now() Instant {
	restores := r.store.Restores() // first: what it brings is below no number taken before it
	return Instant{Seq: r.store.LastSeq(), restores: restores}
}

// Stored opens the stored part of an authorized request at an instant (Now,
// taken after the subscription was registered). When a snapshot is restored
// before the last page was read, pages of two states would come together: that
// is ErrRestored instead.
func (r *Relay) Stored(granted []Granted, at Instant) *Stream {
	st := &Stream{relay: r, from: at, began: at.Seq}
	for _, g := range granted {
		if g.Filter.LimitZero {
			st.unknown = true
			continue
		}
		limit := r.limited(g.Filter.Limit)
		ask := store.Ask{Scope: g.Scope, Filter: g.Filter}
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
	st.note(rows)
	if done {
		done = !st.nextPass()
	}
	if err := st.from.unrestored(ctx, st.relay.store); err != nil {
		return nil, false, err
	}
	return rows, done, nil
}

// unrestored is ErrRestored when a restore took effect since the instant.
func (at Instant) unrestored(ctx context.Context, s Store) error {
	moved, err := s.RestoredSince(ctx, at.restores)
	if err == nil && moved {
		err = ErrRestored
	}
	return err
}

// note remembers which late rows are given.
func (st *Stream) note(rows []store.Row) {
	for i := range rows {
		if rows[i].Seq <= st.from.Seq {
			continue
		}
		if st.late == nil {
			st.late = make(map[int64]struct{})
		}
		st.late[rows[i].Seq] = struct{}{}
	}
}

// given reports whether an earlier pass gave a row.
func (st *Stream) given(row store.Row) bool {
	_, late := st.late[row.Seq]
	return late
}

// nextPass begins a pass over what arrived since the last one began, for every
// filter that was not read at once, and reports whether there is one to read.
// Filters that were asked one after the other were not read at once together,
// which one pass more makes up for.
func (st *Stream) nextPass() bool {
	pages := 0
	for _, src := range st.merged {
		pages += src.asked
	}
	st.merged = slices.DeleteFunc(st.merged, func(src *source) bool {
		return src.cut || src.asked < 2 && (st.again || pages < 2)
	})
	if len(st.merged) == 0 {
		return false
	}
	for _, src := range st.merged {
		src.ask.Above, src.ask.After = st.began, nil
		src.asked, src.ended = 0, false
	}
	st.again, st.began, st.any = true, st.relay.store.LastSeq(), false
	return true
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

// Damaged lists matching events that were left out because what is stored of
// them is damaged, as far as the reader may know of them. Then there is more, too.
func (st *Stream) Damaged() []store.Damaged { return st.damaged }

// lacks notes that an answer lacks damaged events, and returns any other error.
// Without one of those that it names the question has failed.
func (st *Stream) lacks(err error) error {
	d := store.PartOf(err)
	if d == nil {
		return err
	}
	st.more = true
	st.damaged = addDamaged(st.damaged, d)
	return nil
}

// mostDamaged is how many damaged events an answer names.
const mostDamaged = 100

func addDamaged(list []store.Damaged, d *store.DamagedError) []store.Damaged {
	for _, one := range d.Events {
		if len(list) < mostDamaged && !slices.ContainsFunc(list, func(o store.Damaged) bool { return o.Seq == one.Seq }) {
			list = append(list, one)
		}
	}
	return list
}

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

// before returns the order of NIP-01: newest first, ties by lowest id.
func before(a, b store.Row) bool {
	if a.CreatedAt != b.CreatedAt {
		return a.CreatedAt > b.CreatedAt
	}
	return bytes.Compare(a.ID[:], b.ID[:]) < 0
}

// fill asks the store for the source's next rows: one more than the limit
// allows, because only that row tells whether the limit kept anything back.
func (src *source) fill(ctx context.Context, st *Stream, maxRows, maxBytes int) error {
	src.ask.MaxRows = min(maxRows, src.left+1)
	src.ask.MaxBytes = maxBytes
	for len(src.rows) == 0 && !src.ended {
		page, err := st.relay.store.Query(ctx, src.ask)
		if err = st.lacks(err); err != nil {
			return err
		}
		src.asked += page.States
		if n := len(page.Rows); n > 0 {
			last := page.Rows[n-1]
			src.ask.After = &store.Position{CreatedAt: last.CreatedAt, ID: last.ID}
		}
		src.ended = !page.More
		if src.rows = page.Rows; st.again {
			src.rows = slices.DeleteFunc(src.rows, st.given)
		}
		if len(src.rows) > src.left {
			src.rows = src.rows[:src.left]
			src.ended, src.cut, st.more = true, true, true
		}
	}
	return nil
}

// nextHits returns the next page of the first search filter that has one.
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
	if err = st.lacks(err); err != nil {
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
