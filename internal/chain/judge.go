package chain

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
)

// MaxFindings is how many findings of one kind a report names; all are counted.
const MaxFindings = 100

const day = 24 * 60 * 60

// Judge says of each log what the evidence proves: of each number that is nowhere
// why, of each root and prev whether it is that of the log before, and of each
// relay whether it shows less than it once did. It takes time for each event and
// each number that something names, but no more numbers than Events, Units and Own
// have: a number that one event claims far ahead costs nothing.
func Judge(in Evidence) Report {
	j := judging{in: in, report: Report{Counts: map[Kind]int{}}, logs: map[string]*log{}, there: map[string]bool{}}
	for _, r := range in.Relays {
		for _, ids := range [][]string{r.Heads, r.Past} {
			for _, id := range ids {
				j.there[id] = true
			}
		}
	}
	j.gather()
	for _, w := range j.names() {
		j.judge(j.logs[w])
	}
	for _, r := range in.Relays {
		j.compare(r)
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
}

// log is what is known of one log.
type log struct {
	w      string
	of     map[int64]*num
	last   int64 // the greatest number that an event bears, or a unit or the state has
	newest int64 // the greatest number that is there; -1: none
	forked int64 // the first number with two ids; -1: none
}

// num is what is known of one number.
type num struct {
	ids    []string // at most two differing ones matter
	event  *Event   // that is there
	void   bool     // named, or by the state
	stored bool     // by the state
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
	if !slices.Contains(n.ids, id) && len(n.ids) < 8 {
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
	for _, id := range j.ordered() {
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
	}
	for w, all := range j.in.Own {
		for n, o := range all {
			at := j.log(w).num(int64(n))
			at.know(o.ID)
			at.void, at.stored = at.void || o.Void, o.Stored
		}
	}
}

// ordered are the ids of all events, in an order that depends on nothing else.
func (j *judging) ordered() []string {
	ids := make([]string, 0, len(j.in.Events))
	for id := range j.in.Events {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (j *judging) names() []string {
	names := make([]string, 0, len(j.logs))
	for w := range j.logs {
		names = append(names, w)
	}
	slices.Sort(names)
	return names
}

// judge is about one log.
func (j *judging) judge(l *log) {
	s := State{W: l.w, N: l.last}
	numbers := make([]int64, 0, len(l.of))
	for n := range l.of {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var tree Tree
	next, before := int64(0), int64(0) // the number that follows, and when the one before was written
	for _, n := range numbers {
		if n > next {
			j.gap(l, next, n-1)
		}
		next = n + 1
		at := l.of[n]
		j.number(l, n, at, before, &s)
		if at.event != nil {
			before = at.event.At
			l.newest = n
			s.Events++
			s.At = max(s.At, before)
			j.follows(l, n, at, &tree, &s)
		}
		if at.void {
			s.Void++
		}
		if id, ok := at.id(); ok && tree.Size() == n {
			tree.Append(id)
		}
	}
	s.Size, s.Root = tree.Size(), tree.Root(tree.Size())
	j.report.Logs = append(j.report.Logs, s)
}

// id returns the id of a number as a leaf; that of the event that is there, if
// several are known.
func (n *num) id() (Hash, bool) {
	switch {
	case n.event != nil:
		return ParseID(n.event.ID)
	case len(n.ids) > 0:
		return ParseID(n.ids[0])
	}
	return Hash{}, false
}

// gap is about numbers of which nothing tells the id.
func (j *judging) gap(l *log, from, to int64) {
	j.find(Finding{Kind: Unlogged, W: l.w, N: from, Detail: fmt.Sprintf("numbers %d to %d", from, to)}, int(min(to-from+1, 1<<30)))
}

// number is about one number: whether it is there, and once.
func (j *judging) number(l *log, n int64, at *num, before int64, s *State) {
	f := Finding{W: l.w, N: n, IDs: at.ids}
	if at.event != nil {
		f.Slug = at.event.Slug
	}
	switch {
	case len(at.ids) > 1:
		f.Kind = Forked
		if l.forked < 0 {
			l.forked = n
		}
	case at.event != nil && at.void:
		f.Kind = Late
	case at.event != nil, at.void:
		return
	case len(at.ids) == 0:
		f.Kind = Unlogged
	default:
		f.Kind = j.nowhere(at, before)
		if f.Kind != Dropped {
			s.Missing++
		}
	}
	j.find(f, 1)
}

// nowhere says why no relay shows a number whose id is known. before is when the
// number before it was written that is there. What is not certain to have been
// stored is not missed.
func (j *judging) nowhere(at *num, before int64) Kind {
	kind := Missing
	if len(j.in.Relays) == 0 {
		return Dropped
	}
	for _, r := range j.in.Relays {
		switch {
		case !r.Promise.Made:
			return Dropped
		case !r.Whole || !r.History:
			kind = Unsure
		case r.Promise.Days > 0 && before < j.in.Now-r.Promise.Days*day, r.Promise.Versions > 0 && j.full(r, before):
			return Dropped
		}
	}
	if kind == Missing && j.in.Own != nil && !at.stored {
		return Unsure // it may never have left the machine
	}
	return kind
}

// full reports whether some address of a relay has as many superseded events
// since a time as it keeps: then it may have dropped others of that time.
func (j *judging) full(r Shown, since int64) bool {
	count := map[string]int64{}
	for _, id := range r.Past {
		e := j.in.Events[id]
		if e.At < since {
			continue
		}
		if count[e.D]++; count[e.D] >= r.Promise.Versions {
			return true
		}
	}
	return false
}

// follows judges whether an event follows the log before it.
func (j *judging) follows(l *log, n int64, at *num, tree *Tree, s *State) {
	link := at.event.Link
	if tree.Size() < n {
		return // a number before it is not known
	}
	s.Checked++
	if root := tree.Root(n); root != link.Root && l.forked < 0 { // behind a fork one branch has another root, which was said
		j.find(Finding{Kind: Rewritten, W: l.w, N: n, IDs: []string{at.event.ID}, Slug: at.event.Slug, Detail: "its root is not that of the numbers before it"}, 1)
	}
}

// compare judges one relay by what it showed once, and by what others show.
func (j *judging) compare(r Shown) {
	if !r.Whole {
		return
	}
	heads, shows := map[string]Event{}, map[string]int64{}
	for _, id := range r.Heads {
		heads[j.in.Events[id].D] = j.in.Events[id]
	}
	for _, ids := range [][]string{r.Heads, r.Past} {
		for _, id := range ids {
			if l := j.in.Events[id].Link; l != nil {
				shows[l.W] = max(shows[l.W], l.N+1)
			}
		}
	}
	rolled := map[string]bool{}
	for _, m := range r.Marks {
		if now, ok := heads[m.D]; ok && (now.ID == m.ID || now.At > m.At || now.At == m.At && now.ID < m.ID) {
			continue // it is there, or was superseded
		}
		rolled[m.W] = true
		j.find(Finding{Kind: RolledBack, W: m.W, N: m.N, IDs: []string{m.ID}, Relay: r.URL,
			Detail: fmt.Sprintf("it once showed number %d, and shows nothing as new at that place", m.N)}, 1)
	}
	for _, w := range j.names() {
		if newest := j.logs[w].newest; newest >= 0 && shows[w] <= newest && !rolled[w] {
			j.find(Finding{Kind: Behind, W: w, N: shows[w] - 1, Relay: r.URL, Detail: fmt.Sprintf("others show number %d", newest)}, 1)
		}
	}
}

func (j *judging) find(f Finding, count int) {
	if j.report.Counts[f.Kind] < MaxFindings {
		j.report.Findings = append(j.report.Findings, f)
	}
	j.report.Counts[f.Kind] += count
}

// Marks returns what is to be remembered of a relay: of each log the greatest
// number that it shows as a head.
func Marks(r Shown, events map[string]Event) []Mark {
	of := map[string]Mark{}
	for _, id := range r.Heads {
		e := events[id]
		if e.Link == nil {
			continue
		}
		if m, ok := of[e.Link.W]; !ok || e.Link.N > m.N {
			of[e.Link.W] = Mark{W: e.Link.W, N: e.Link.N, ID: id, D: e.D, At: e.At}
		}
	}
	marks := make([]Mark, 0, len(of))
	for _, m := range of {
		marks = append(marks, m)
	}
	slices.SortFunc(marks, func(a, b Mark) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.W, b.W)) })
	return marks
}
