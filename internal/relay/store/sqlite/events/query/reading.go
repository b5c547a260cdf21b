package query

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/rot"
)

// reading is one read call on one connection: what is asked, by whom, and as of
// when.
type reading struct {
	ctx     context.Context
	c       *engine.Conn
	scope   gate.Scope
	clauses []gate.Clause // its
	want    *Wanted
	above   int64           // of byArrival
	now     int64           // expired at or before it is not there
	after   *store.Position // resume behind it
	whole   bool            // it is not taken up again where it was ended
	table   *gate.Table
	rot     *rot.Known
	met     []store.Damaged // rotten rows that the reader may know of
	texts   map[*shape]statement
}

// statement is a shape's SQL behind the span's own arguments, the first of
// which is the lower bound of created_at.
type statement struct {
	text string
	args []engine.Value
}

// Columns of a row. The second check needs the class of all, and d where that
// is a way of the scope; id, author and p tags it finds in the JSON.
const columnsKey = "e.seq,e.created_at,e.id,length(e.json)"

// shown are the columns of a table's rows, the same with d, and that one lives.
var shown = [...]struct{ row, d, lives string }{shownOf(FromEvents), shownOf(FromHistory)}

func shownOf(from Source) (r struct{ row, d, lives string }) {
	r.row = "e.seq,e.created_at,e.class,e.json," + column.Sound(from.table(), "e")
	r.d, r.lives = r.row+",e.d", column.Lives(from.table(), "e")
	return r
}

// Columns are those that a row needs under a scope when it matches the filter,
// and whether it is as it was written.
func Columns(scope gate.Scope, f nostr.Filter, from Source) string {
	for _, c := range scope.Clauses() {
		switch {
		case c.Everyone, c.ByAuthor && allAmong(f.Authors, c.Keys), len(c.IDs) > 0 && len(f.IDs) > 0:
		case len(c.Ds) > 0, len(c.Cases) > 0:
			return shown[from].d
		}
	}
	return shown[from].row
}

// statement returns a span's SQL and arguments: every condition of the filter
// that the span does not imply, the scope, expiry and the resume point, newest
// first where the index has that order.
func (r *reading) statement(columns string, sp span) (string, []engine.Value) {
	st, ok := r.texts[sp.shape]
	if !ok {
		w := Where{Args: make([]engine.Value, 0, 16)}
		w.SQL.Grow(1280)
		w.Text("SELECT " + columns + " FROM " + sp.from + " WHERE ")
		w.And(sp.lead)
		r.conditions(&w, sp.shape)
		if sp.ordered && !sp.single {
			w.Text(" ORDER BY " + sp.at + ".created_at DESC")
		}
		st = statement{w.SQL.String(), w.Args}
		if r.texts == nil {
			r.texts = map[*shape]statement{}
		}
		r.texts[sp.shape] = st
	}
	args := make([]engine.Value, 0, len(sp.args)+len(st.args))
	return st.text, append(append(args, sp.args...), st.args...)
}

// conditions adds to w all that a row must meet beside the span's own
// conditions.
func (r *reading) conditions(w *Where, sh *shape) {
	w.And(sh.at+".created_at>=? AND "+sh.at+".created_at<=?", r.want.since, r.until())
	if r.marks(sh) {
		w.And("engramd_mark(" + sh.at + ".created_at)")
	}
	if sh.kinds && r.want.kinds != nil {
		w.AndIn(sh.at+".kind", r.want.kinds)
	}
	lives := "(e.expires_at IS NULL OR e.expires_at>?)"
	if !r.whole { // what is counted is seen in an index alone
		lives = shown[sh.source].lives
	}
	w.And(lives, r.now)
	scopeWhere(w, r.scope, r.clauses, r.want.filter, sh.source, sh.d, sh.classes)
	if r.after != nil {
		w.And("("+sh.at+".created_at<? OR e.id>?)", r.after.CreatedAt, r.after.ID[:])
	}
	if sh.ids && r.want.IDs != nil {
		w.AndIn("e.id", r.want.IDs)
	}
	if sh.authors && r.want.authors != nil {
		w.andAuthors(r.want.authors)
	}
	for _, t := range r.want.Tags {
		if t.name != sh.skipTag {
			hasTag(w, t)
		}
	}
}

// marks reports whether rows may be passed over in a span: then a note is made
// of where it is, in case that it is ended there. Elsewhere the rows themselves
// tell.
func (r *reading) marks(sh *shape) bool {
	w := r.want
	return !r.whole && sh.ordered && sh.source == FromEvents && (sh.kinds && w.kinds != nil || sh.ids && w.IDs != nil || sh.authors && w.authors != nil ||
		len(w.Tags) > 1 || len(w.Tags) == 1 && w.Tags[0].name != sh.skipTag ||
		len(boundClauses(r.clauses, w.filter, sh.d, sh.classes)) > 0)
}

// until is the upper bound of created_at.
func (r *reading) until() int64 {
	if r.after != nil {
		return min(r.want.until, r.after.CreatedAt)
	}
	return r.want.until
}

// hasTag adds the condition that an event has one of the tag's values. A gated
// one's only p tag is at hand in the row.
func hasTag(w *Where, t wantedTag) {
	if t.name == "p" && allBlobs(t.values) {
		w.And("")
		readersAmong(w, t.values, FromEvents)
		return
	}
	w.And("EXISTS (SELECT 1 FROM tags AS x WHERE x.name=? AND ", t.name)
	w.tagValue("x.value", t.name, t.values)
	w.Text(" AND x.class=e.class AND x.created_at=e.created_at AND x.seq=e.seq)")
}

// numbers runs a query of one column.
func (r *reading) numbers(text string, args ...engine.Value) ([]engine.Value, error) {
	out, err := engine.List(r.ctx, r.c, func(v engine.Row) (engine.Value, error) { return v[0], nil }, text, args...)
	if out == nil {
		out = []engine.Value{}
	}
	return out, err
}

// reading prepares one read call.
func (q *Reader) reading(ctx context.Context, c *engine.Conn, ask store.Ask, want *Wanted) *reading {
	return &reading{
		ctx: ctx, c: c, scope: ask.Scope, clauses: ask.Scope.Clauses(), want: want, above: ask.Above, now: q.Clock().Unix(), after: ask.After, table: q.Table, rot: q.Rot,
	}
}
