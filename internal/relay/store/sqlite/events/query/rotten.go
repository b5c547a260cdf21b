package query

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/rot"
)

// Lacking is the error of an answer that is whole but for rotten rows.
func Lacking(damaged []store.Damaged, whole bool, err error) error {
	if err != nil || len(damaged) == 0 {
		return err
	}
	slices.SortFunc(damaged, func(a, b store.Damaged) int { return int(a.Seq - b.Seq) })
	return &store.DamagedError{Events: slices.CompactFunc(damaged, func(a, b store.Damaged) bool { return a.Seq == b.Seq }), Whole: whole}
}

// Sift judges a row that its sum has not shown to be sound, and reports what the
// reader may know of it if it is rotten.
func (q *Reader) Sift(c *engine.Conn, scope gate.Scope, e *Entry, from Source) (sound bool, damaged []store.Damaged, err error) {
	r := reading{c: c, scope: scope, table: q.Table, rot: q.Rot}
	err = r.sift(e, from)
	return e.sound, r.met, err
}

func (r *reading) sift(e *Entry, from Source) error {
	if e.sound {
		return nil
	}
	row, err := rot.Look(r.c, r.table, from.table(), e.Seq)
	if err != nil || row == nil {
		return err
	}
	if row.Rotten || e.JSON == nil || r.rot.Has(row.Table, row.Seq) {
		r.note(row)
		return nil
	}
	e.sound = true
	return nil
}

// note remembers a rotten row, and that the reader met it if he may know.
func (r *reading) note(row *rot.Row) {
	r.rot.Note(r.c, row)
	if row.Told(r.scope) {
		r.met = append(r.met, row.Damaged())
	}
}

// noteAll remembers rotten rows that were met without being read.
func (q *Reader) noteAll(c *engine.Conn, seqs []int64) error {
	for _, seq := range seqs {
		row, err := rot.Look(c, q.Table, "events", seq)
		if err != nil {
			return err
		}
		if row != nil && row.Rotten {
			q.Rot.Note(c, row)
		}
	}
	return nil
}

// passedOver are the rows known to be rotten that a question is about, whether it
// has met them or not.
func (q *Reader) passedOver(ask store.Ask) (damaged []store.Damaged) {
	if q.Rot.Count() == 0 {
		return nil
	}
	now := q.Clock().Unix()
	for _, row := range q.Rot.Whole() {
		r := row.Record
		if row.Seq > ask.Above && (r.Expires == 0 || r.Expires > now) && ask.Filter.Matches(r.Event) && row.Told(ask.Scope) {
			damaged = append(damaged, row.Damaged())
		}
	}
	return damaged
}

// single reports whether the question is about single events: by ids, or by
// addresses.
func (p plan) single() bool {
	w := p.want
	return p.access == byID || p.access == byAddress || w.IDs == nil && w.authors != nil && w.allKinds(nostr.IsReplaceableKind) && p.access == byAuthor
}

// named is how many those are.
func (p plan) named() int {
	w := p.want
	if p.access == byID {
		return len(w.IDs)
	}
	n := len(w.authors) * len(w.kinds)
	if p.access == byAddress {
		n *= len(w.d().values)
	}
	return n
}

// mostHidden is how many rows of one question are looked at for being hidden.
const mostHidden = 64

// hidden looks for rotten rows that the question names, and that its conditions
// passed over because of what is rotten in them. Only indexes tell.
func (r *reading) hidden(p plan) error {
	list := []stretch{fixed(idSpan(r.want.IDs))}
	switch free, _, err := r.classes(); {
	case err != nil:
		return err
	case p.access == byAddress: // whose rows the reader may not see take no time
		if list, _, err = r.stretches(p); err != nil {
			return err
		}
	case p.access == byAuthor && len(free) == 0:
		return nil
	case p.access == byAuthor:
		list = []stretch{fixed(headSpan(r.want, free, r.want.authors, nil, []engine.Value{""}))}
	}
	for _, st := range list {
		if sp, ok := st.(fixed); ok {
			if err := hidden(r, span(sp)); err != nil {
				return err
			}
		}
	}
	return nil
}

func hidden(r *reading, sp span) error {
	w := Where{Args: slices.Clone(sp.args)}
	w.Text("SELECT e.seq FROM " + sp.from + " WHERE " + sp.lead + " AND " + column.Sound("events", "e") + " IS NOT 1")
	w.Text(" LIMIT ?", int64(mostHidden))
	seqs, err := r.numbers(w.SQL.String(), w.Args...)
	if err != nil {
		return err
	}
	for _, seq := range seqs {
		row, err := rot.Look(r.c, r.table, "events", seq.(int64))
		if err != nil {
			return err
		}
		if row != nil && (row.Rotten || r.rot.Has(row.Table, row.Seq)) {
			r.note(row)
		}
	}
	return nil
}
