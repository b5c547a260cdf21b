package writerlog

import (
	"cmp"
	"encoding/hex"
	"maps"
	"math"
	"slices"

	"engramd/nips/nipae"
)

// MaxFindings is how many findings of one kind a report names; all are counted.
const MaxFindings = 100

const (
	day = 24 * 60 * 60
	// slack is how far the times of one log's events may go back, in seconds:
	// clocks are set.
	slack = 60 * 60
	// early is by how much a relay may drop what expires before this machine's clock says so.
	early = 60
	// maxSteps bounds what is done for numbers that are nowhere; beyond it nobody
	// is accused.
	maxSteps = 1 << 22
	// maxIDs bounds the ids that are kept of one number.
	maxIDs = 8
)

// Judge says of each log what the evidence proves: of each number that is nowhere
// why, of each root and prev whether it is that of the log before, and of each
// relay whether it shows less than it once did. It takes time for each event and
// each number that something names, but no more numbers than Events, Units and Own
// have: a number that one event claims far ahead costs nothing. Marks of what has expired
// are taken out of the evidence.
func Judge(in Evidence) Report {
	j := judging{in: in, report: Report{Counts: map[Kind]int{}}, logs: map[string]*log{}, there: map[string]bool{}, oldest: math.MaxInt64}
	for _, r := range in.Relays {
		j.full = append(j.full, fullOf(r, in.Events))
		for _, ids := range [][]string{r.Heads, r.Past} {
			for _, id := range ids {
				j.there[id] = true
				j.oldest = min(j.oldest, in.Events[id].At)
			}
		}
	}
	j.gather()
	for _, w := range j.names() {
		j.judge(j.logs[w])
	}
	for i := range in.Relays {
		r := &in.Relays[i]
		r.Marks = slices.DeleteFunc(slices.Clone(r.Marks), func(m Mark) bool { return j.isOver(j.log(m.W).of[m.N]) })
		j.compare(*r)
	}
	slices.SortFunc(j.report.Logs, func(a, b State) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.W, b.W)) })
	return j.report
}

// judging is Judge at work.
type judging struct {
	in     Evidence
	report Report
	logs   map[string]*log
	there  map[string]bool // ids that some relay shows
	full   []full          // by relay
	steps  int             // that settled took
	oldest int64           // the created_at of the oldest event that a relay shows
}

// log is what is known of one log.
type log struct {
	w      string
	of     map[int64]*num
	last   int64 // the greatest number that an event bears, or a unit or the state has
	newest int64 // the greatest number that is there; -1: none
	forked int64 // the first number with two ids; -1: none
	least  int64 // the least number that is there; beyond last: none
}

// num is what is known of one number.
type num struct {
	ids    []string // at most two differing ones matter
	event  *Event   // that is there
	void   bool     // named, or by the state
	own    bool     // the state knows it
	at     int64    // created_at by the state; 0: not known
	stored bool     // by the state
	took   []string // relays, by the state
	d      string   // its address, by the state; "": not known
	ends   int64    // when it expires; 0: never, or it is not known
	told   int64    // the greatest number whose event says so
}

// end notes what the event of a later number says of when it expires: what supersedes it
// may change that.
func (n *num) end(by, at int64) {
	if by >= n.told {
		n.told, n.ends = by, at
	}
}

func (l *log) num(n int64) *num {
	at := l.of[n]
	if at == nil {
		at = &num{}
		l.of[n] = at
	}
	l.last = max(l.last, n)
	return at
}

func (n *num) know(id string) {
	if !slices.Contains(n.ids, id) && len(n.ids) < maxIDs {
		n.ids = append(n.ids, id)
	}
}

func (j *judging) log(w string) *log {
	l := j.logs[w]
	if l == nil {
		l = &log{w: w, of: map[int64]*num{}, last: -1, newest: -1, forked: -1}
		j.logs[w] = l
	}
	return l
}

// gather collects what events, units and the state tell.
func (j *judging) gather() {
	for _, id := range slices.Sorted(maps.Keys(j.in.Events)) {
		e := j.in.Events[id]
		if e.Link == nil {
			if !IsUnitName(e.Slug) {
				j.report.Unchained++
			}
			continue
		}
		l := j.log(e.Link.W)
		at := l.num(e.Link.N)
		at.know(id)
		if j.there[id] && at.event == nil {
			at.event = &e
		}
		if e.Link.Prev != "" {
			l.num(e.Link.N - 1).know(e.Link.Prev)
		}
		for _, v := range e.Link.Void {
			l.num(v.N).know(v.ID)
			l.num(v.N).void = true
		}
		for _, end := range e.Link.Ends {
			l.num(end[0]).end(e.Link.N, end[1])
		}
		for _, h := range e.Link.After {
			j.log(h.W).num(h.N).know(h.ID)
		}
	}
	for _, u := range j.in.Units {
		l := j.log(u.W)
		for i, id := range u.IDs {
			l.num(u.First + int64(i)).know(hex.EncodeToString(id[:]))
		}
		for _, v := range u.Void {
			l.num(v.N).know(v.ID)
			l.num(v.N).void = true
		}
		for _, end := range u.Ends {
			at := l.num(end[0])
			at.ends = max(at.ends, end[1])
		}
	}
	for w, all := range j.in.Own {
		for n, o := range all {
			at := j.log(w).num(int64(n))
			at.know(o.ID)
			at.void, at.own, at.stored, at.at, at.took, at.d = at.void || o.Void, true, o.Stored, o.At, o.Took, o.D
			if o.Ends > 0 {
				at.ends = o.Ends
			}
		}
	}
	j.ended()
}

// isOver reports whether a number has expired, as far as that is known.
func (j *judging) isOver(n *num) bool { return n != nil && n.ends > 0 && n.ends-early <= j.in.Now }

// names are those of the logs, in order.
func (j *judging) names() []string { return slices.Sorted(maps.Keys(j.logs)) }

func (j *judging) find(f Finding, count int) {
	if j.report.Counts[f.Kind] < MaxFindings {
		j.report.Findings = append(j.report.Findings, f)
	}
	j.report.Counts[f.Kind] += count
}

// Newest returns the last number of each log that engrams tell of, those whose
// last event is the newest first, MaxAfter at most.
func Newest(seen []nipae.Engram) []Head {
	type last struct {
		Head
		at int64
	}
	of := map[string]last{}
	for _, e := range seen {
		if l, ok := Of(e); ok && (of[l.W].W == "" || l.N > of[l.W].N) {
			of[l.W] = last{Head{W: l.W, N: l.N, ID: e.Event.ID}, l.T}
		}
	}
	all := slices.SortedFunc(maps.Values(of), func(a, b last) int { return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(a.W, b.W)) })
	var heads []Head
	for _, l := range all[:min(len(all), MaxAfter)] {
		heads = append(heads, l.Head)
	}
	return heads
}
