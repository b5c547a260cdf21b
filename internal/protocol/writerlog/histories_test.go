package writerlog

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// histories is how many random histories are judged; 10,000 in make soak.
func histories() uint64 {
	switch {
	case os.Getenv("ENGRAMD_SOAK") == "1":
		return 10_000
	case testing.Short():
		return 200
	}
	return 1000
}

// TestHonestHistories: of honest relays, with all that goes wrong without a lie,
// nobody finds a fault: neither a machine that writes, nor one that knows nothing.
// Where a relay was taken out of the list, that is so of what a machine has written
// itself: others cannot know that it was there.
func TestHonestHistories(t *testing.T) {
	kinds := map[Kind]int{}
	for seed := range histories() {
		w := newWorld(t, seed)
		w.live(10)
		w.look()
		if seed%3 == 1 { // relays that keep little, and say so
			w.relays[0].promise = Promise{Made: true, Versions: 2}
			for d := range w.relays[0].heads {
				for over := w.relays[0].of(d, w.events); len(over) > 2; over = over[1:] {
					w.relays[0].drop(over[0])
				}
			}
		}
		if seed%3 == 2 { // relays that promise nothing, and keep nothing
			for _, r := range w.relays {
				r.promise, r.past = Promise{}, nil
			}
		}
		fewer := seed%5 == 4
		if fewer {
			w.relays = w.relays[:2]
		}
		w.live(25)
		for _, own := range []*simWriter{nil, w.writers[0], w.writers[1]} {
			report := Judge(w.evidence(own))
			for _, f := range report.Findings {
				if f.Kind.Fault() && (!fewer || own != nil && f.W == own.w) {
					t.Fatalf("seed %d, own %v: %+v", seed, own != nil, f)
				}
			}
			for kind, n := range report.Counts {
				kinds[kind] += n
			}
		}
	}
	for _, kind := range []Kind{Dropped, Unsure, Behind, Late} {
		if kinds[kind] == 0 {
			t.Errorf("no history shows %s: %v", kind, kinds)
		}
	}
}

// lie is something that a relay or a key does.
type lie struct {
	kind Kind
	tell func(w *world) (about func(Finding) bool, told bool)
}

// lies are all that this can name. Each says which finding names it.
func lies() map[string]lie {
	return map[string]lie{
		"all leave a head out": {Missing, func(w *world) (func(Finding) bool, bool) {
			return w.omit(func(r *simRelay) (ids []string) {
				for _, id := range r.heads {
					ids = append(ids, id)
				}
				return ids
			})
		}},
		"all leave a version out": {Missing, func(w *world) (func(Finding) bool, bool) {
			return w.omit(func(r *simRelay) []string { return r.past })
		}},
		"one rolls back": {RolledBack, func(w *world) (func(Finding) bool, bool) {
			r := w.relays[w.rand.IntN(3)]
			for _, m := range r.marks {
				past := r.of(m.D, w.events)
				if r.heads[m.D] == m.ID {
					r.drop(m.ID)
					if len(past) > 0 {
						r.drop(past[len(past)-1])
						r.heads[m.D] = past[len(past)-1]
					}
					return func(f Finding) bool { return f.Relay == r.url && f.W == m.W && f.N == m.N }, true
				}
			}
			return nil, false
		}},
		"one shows an old state of one writer": {RolledBack, func(w *world) (func(Finding) bool, bool) {
			r := w.relays[w.rand.IntN(3)]
			if len(r.marks) == 0 {
				return nil, false
			}
			m := r.marks[0]
			for d, id := range r.heads {
				if l := w.events[id].Link; l != nil && l.W == m.W {
					delete(r.heads, d)
				}
			}
			return func(f Finding) bool { return f.Relay == r.url && f.W == m.W }, true
		}},
		"the key forks a log": {Forked, func(w *world) (func(Finding) bool, bool) {
			e, ok := w.some()
			if !ok {
				return nil, false
			}
			twin := e
			twin.ID, twin.D, twin.At = w.id(), "fork", w.now
			w.events[twin.ID] = twin
			w.relays[w.rand.IntN(3)].put(twin, w.events)
			return func(f Finding) bool { return f.W == e.Link.W && f.N == e.Link.N }, true
		}},
		"the key writes another past": {Rewritten, func(w *world) (func(Finding) bool, bool) {
			e, ok := w.some()
			if !ok || e.Link.N == 0 {
				return nil, false
			}
			l := *e.Link
			l.Root[3] ^= 1
			e.Link = &l
			w.events[e.ID] = e
			return func(f Finding) bool { return f.W == l.W && f.N == l.N }, true
		}},
	}
}

// some returns an event that is a head somewhere and in a log, to whose number
// every id is known.
func (w *world) some() (Event, bool) {
	var all []string
	report := Judge(w.evidence(nil))
	for _, r := range w.relays {
		for _, id := range r.heads {
			l := w.events[id].Link
			if l == nil {
				continue
			}
			i := slices.IndexFunc(report.Logs, func(s State) bool { return s.W == l.W })
			if report.Logs[i].Size > l.N {
				all = append(all, id)
			}
		}
	}
	if len(all) == 0 {
		return Event{}, false
	}
	slices.Sort(all)
	return w.events[all[w.rand.IntN(len(all))]], true
}

// shown are the ids that some relay shows.
func (w *world) shown() map[string]bool {
	all := map[string]bool{}
	for _, s := range w.evidence(nil).Relays {
		for _, id := range slices.Concat(s.Heads, s.Past) {
			all[id] = true
		}
	}
	return all
}

// omit has every relay leave out one event of those that one shows, which a later
// one of its log makes known.
func (w *world) omit(of func(*simRelay) []string) (func(Finding) bool, bool) {
	ids := of(w.relays[0])
	slices.Sort(ids)
	for _, id := range ids {
		e := w.events[id]
		if e.Link == nil {
			continue
		}
		// The number before it and the one behind are there, and the latter says
		// that it was stored: of others it is not certain.
		before, behind, void := false, false, false
		for other := range w.shown() {
			if l := w.events[other].Link; l != nil && l.W == e.Link.W {
				before = before || l.N == e.Link.N-1
				behind = behind || l.N == e.Link.N+1 && !l.IsOpen(e.Link.N)
				void = void || slices.ContainsFunc(l.Void, func(v Num) bool { return v.N == e.Link.N }) // it came late
			}
		}
		if !before || !behind || void {
			continue
		}
		for _, r := range w.relays {
			r.drop(id)
			r.marks = nil
		}
		return func(f Finding) bool { return f.W == e.Link.W && f.N == e.Link.N }, true
	}
	return nil, false
}

// TestLyingHistories: each lie is named as what it is, where it is, and no other
// fault is.
func TestLyingHistories(t *testing.T) {
	for name, lie := range lies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := 0
			for seed := range histories() / 4 {
				w := newWorld(t, seed)
				w.live(30)
				for _, r := range w.relays {
					r.away = false
				}
				w.look()
				before := w.shown()
				about, ok := lie.tell(w)
				if !ok {
					continue
				}
				told++
				report := Judge(w.evidence(nil))
				named := false
				for _, f := range report.Findings {
					switch {
					case f.Kind == lie.kind && about(f):
						named = true
					case f.Kind == Missing && before[f.IDs[0]] && !w.shown()[f.IDs[0]]: // no other relay had it
					case f.Kind.Fault():
						t.Fatalf("seed %d: %+v, which nobody did", seed, f)
					}
				}
				if !named {
					t.Fatalf("seed %d: not named in %+v", seed, report.Findings)
				}
			}
			if told < int(histories()/20) {
				t.Errorf("told %d times only", told)
			}
		})
	}
}

// TestMarksStay: a relay that shows less than once is told of each time, until it
// shows it again or what superseded it.
func TestMarksStay(t *testing.T) {
	events := map[string]Event{someID: {ID: someID, D: "a", At: 10, Link: &Link{W: "00000001", N: 4}}}
	r := Shown{URL: "A", Whole: true, History: true, Heads: []string{someID}}
	marks := Marks(r, events)
	if len(marks) != 1 || marks[0].N != 4 {
		t.Fatal(marks)
	}
	r.Heads, r.Marks = nil, marks
	for range 2 {
		report := Judge(Evidence{Relays: []Shown{r}, Events: events, Now: 20})
		if report.Counts[RolledBack] != 1 {
			t.Error(report.Findings)
		}
		r.Marks = Marks(r, events)
	}
	events[otherID] = Event{ID: otherID, D: "a", At: 11}
	r.Heads = []string{otherID}
	if report := Judge(Evidence{Relays: []Shown{r}, Events: events, Now: 20}); report.Faults() != 0 {
		t.Error(report.Findings)
	}
}

// TestUnitsTellIDs: where relays dropped the events, log units tell their ids, so
// that roots can be checked.
func TestUnitsTellIDs(t *testing.T) {
	in, tree := wide(2*UnitSize + 3)
	head := in.Events[in.Relays[0].Heads[len(in.Relays[0].Heads)-1]]
	for _, u := range []bool{false, true} {
		only := Evidence{Relays: []Shown{{URL: "A", Whole: true, History: true, Heads: []string{head.ID}}}, Events: map[string]Event{head.ID: head}}
		if u {
			for k := range int64(2) {
				unit := Unit{W: head.Link.W, First: k * UnitSize}
				for n := range int64(UnitSize) {
					id, _ := ParseID(in.Own[head.Link.W][unit.First+n].ID)
					unit.IDs = append(unit.IDs, id)
				}
				only.Units = append(only.Units, unit)
			}
		}
		report := Judge(only)
		s := report.Logs[0]
		if report.Faults() > 0 || u && (s.Size != 2*UnitSize || s.Root != tree.Root(2*UnitSize)) || !u && s.Size != 0 {
			t.Errorf("units %v: %+v, %v", u, s, report.Counts)
		}
	}
}

// wide is a log of so many events at one relay, all of them heads.
func wide(count int) (Evidence, Tree) {
	in := Evidence{Events: map[string]Event{}, Own: map[string][]Own{}, Now: 1_700_000_000 + int64(count)}
	r := Shown{URL: "A", Whole: true, History: true, Promise: Promise{Made: true, Versions: 100, Days: 365}}
	var tree Tree
	prev := ""
	for n := range count {
		l := Link{W: "0a1b2c3d", N: int64(n), Prev: prev, Root: tree.Root(int64(n))}
		e := Event{ID: fmt.Sprintf("%064x", n+1), D: fmt.Sprintf("%064x", -n&0xffffff), At: 1_700_000_000 + int64(n), Slug: fmt.Sprintf("mem/%d", n), Link: &l}
		id, _ := ParseID(e.ID)
		tree.Append(id)
		prev = e.ID
		in.Events[e.ID] = e
		in.Own[l.W] = append(in.Own[l.W], Own{ID: e.ID, Stored: true})
		r.Heads = append(r.Heads, e.ID)
	}
	in.Relays = []Shown{r, {URL: "B", Whole: true, History: true, Promise: r.Promise, Heads: r.Heads}}
	return in, tree
}

// BenchmarkJudge judges a memory of 10,000 units at two relays (at most
// 200 ms).
func BenchmarkJudge(b *testing.B) {
	in, _ := wide(10_000)
	for b.Loop() {
		if r := Judge(in); r.Faults() > 0 || !r.Logs[0].Complete() {
			b.Fatal(r.Counts)
		}
	}
}
