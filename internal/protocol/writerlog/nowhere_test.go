package writerlog

import (
	"fmt"
	"testing"
)

// TestTaken: what a relay took from this machine and promised to keep is missed, all
// that it shows may be gone, and whatever others promise or show; what only others
// took is not asked of it.
func TestTaken(t *testing.T) {
	promise := Promise{Made: true, Versions: 100, Days: 365}
	own := map[string][]Own{"0a1b2c3d": {{ID: someID, At: 1_700_000_000, Stored: true, Took: []string{"A", "gone"}}}}
	a, b := Shown{URL: "A", Whole: true, History: true, Promise: promise}, Shown{URL: "B", Whole: true, History: true}
	with := func(s Shown, change func(*Shown)) Shown { change(&s); return s }
	for name, c := range map[string]struct {
		relays []Shown
		want   Kind
	}{
		"it shows nothing at all":            {[]Shown{a}, Missing},
		"another promises nothing":           {[]Shown{b, a}, Missing},
		"another is silent":                  {[]Shown{a, {URL: "B"}}, Missing},
		"it promised less":                   {[]Shown{with(a, func(s *Shown) { s.Promise.Days = 1 }), with(b, func(s *Shown) { s.Promise = promise })}, Dropped},
		"it promises nothing":                {[]Shown{with(a, func(s *Shown) { s.Promise = Promise{} })}, Dropped},
		"it is silent":                       {[]Shown{{URL: "A"}, b}, Unsure},
		"its history is":                     {[]Shown{with(a, func(s *Shown) { s.History = false })}, Unsure},
		"it is asked no more":                {[]Shown{with(a, func(s *Shown) { s.URL = "B" })}, Unsure},
		"asked no more, and others took all": {[]Shown{with(a, func(s *Shown) { s.URL = "B" }), with(a, func(s *Shown) { s.URL = "C" })}, Unsure},
	} {
		report := Judge(Evidence{Relays: c.relays, Own: own, Now: 1_700_000_000 + 100*day})
		if len(report.Findings) != 1 || report.Findings[0].Kind != c.want {
			t.Errorf("%s: %+v, want %s", name, report.Findings, c.want)
		}
	}
}

// TestFull: a relay that has at one address all the versions that it keeps may have
// dropped others there, and not what this machine wrote at another.
func TestFull(t *testing.T) {
	for d, want := range map[string]Kind{"a": Dropped, "b": Missing, "": Dropped} {
		for _, took := range [][]string{{"A"}, nil} {
			in := Evidence{Events: map[string]Event{}, Now: 1_700_001_000, Own: map[string][]Own{"0a1b2c3d": {{ID: someID, D: d, At: 1_700_000_010, Stored: true, Took: took}}}}
			r := Shown{URL: "A", Whole: true, History: true, Promise: Promise{Made: true, Versions: 2}}
			for i, at := range []int64{1_600_000_000, 1_700_000_020, 1_700_000_030} {
				e := Event{ID: fmt.Sprint("a", i), D: "a", At: at}
				if in.Events[e.ID] = e; i == 0 {
					e.D = "c"
					in.Events[e.ID], r.Heads = e, []string{e.ID}
				} else {
					r.Past = append(r.Past, e.ID)
				}
			}
			in.Relays = []Shown{r}
			if report := Judge(in); len(report.Findings) != 1 || report.Findings[0].Kind != want {
				t.Errorf("at %q, taken by %v: %+v, want %s", d, took, report.Findings, want)
			}
		}
	}
}

// TestSilent: where it is not known which relay took a number, one that is silent
// may have it, whatever others do not promise, and the log is not complete.
func TestSilent(t *testing.T) {
	own := map[string][]Own{"0a1b2c3d": {{ID: someID, At: 1_700_000_000, Stored: true}}}
	bare := Shown{URL: "A", Whole: true, History: true}
	for _, relays := range [][]Shown{{bare, {URL: "B"}}, {{URL: "B"}, bare}, {bare, {URL: "B", Whole: true}}} {
		report := Judge(Evidence{Relays: relays, Own: own, Now: 1_700_000_100})
		if report.Counts[Unsure] != 1 || report.Logs[0].Complete() {
			t.Errorf("%+v: %+v", relays, report)
		}
	}
	if report := Judge(Evidence{Relays: []Shown{bare}, Own: own, Now: 1_700_000_100}); report.Counts[Dropped] != 1 {
		t.Errorf("%+v", report)
	}
}

// TestExpired: a number that has expired is nowhere, and no relay has lost it: by the
// writer's state, by a later event, by a log unit, by an ending of another writer. Before its time it is missed. A mark of
// it is none any more.
func TestExpired(t *testing.T) {
	const log, at = "0a1b2c3d", int64(1_700_000_000)
	relay := Shown{URL: "A", Whole: true, History: true, Promise: Promise{Made: true, Versions: 100, Days: 365}}
	id, _ := ParseID(someID)
	var tree Tree
	tree.Append(id)
	next := Event{ID: otherID, D: "b", At: at + 2, Link: &Link{W: log, N: 1, T: at + 2, Prev: someID, Root: tree.Root(1), Ends: []End{{0, at + 60}}}}
	for name, in := range map[string]Evidence{
		"the state":     {Own: map[string][]Own{log: {{ID: someID, D: "a", At: at, Stored: true, Took: []string{"A"}, Ends: at + 60}}}},
		"a later event": {Events: map[string]Event{otherID: next, "c": {ID: "c", D: "c", At: at - 1}}},
		"a unit":        {Units: []Unit{{W: log, IDs: []Hash{id}, Ends: []End{{0, at + 60}}}}, Own: map[string][]Own{log: {{ID: someID, At: at, Stored: true, Took: []string{"A"}}}}},
		"an ending":     {Ends: map[string]int64{someID: at + 60}, Own: map[string][]Own{log: {{ID: someID, At: at, Stored: true, Took: []string{"A"}}}}},
		"and the state": {Ends: map[string]int64{someID: at + 60}, Own: map[string][]Own{log: {{ID: someID, At: at, Stored: true, Took: []string{"A"}, Ends: at + 9000}}}},
	} {
		for now, over := range map[int64]int{at - 60: 0, at + 60: 1} {
			r := relay
			if in.Events != nil {
				r.Heads, r.Past, r.Promise.Days = []string{otherID}, []string{"c"}, 0
			}
			r.Marks = []Mark{{W: log, N: 0, ID: someID, D: "a", At: at}}
			in.Relays, in.Now = []Shown{r}, now
			report := Judge(in)
			if report.Counts[Expired] != over || report.Counts[RolledBack] != 1-over || (report.Faults() == 0) != (over == 1) || in.Events == nil && report.Counts[Missing] != 1-over {
				t.Errorf("%s, at %d: %+v", name, now-at, report.Findings)
			}
			if marks := Marks(in.Relays[0], in.Events); over == 1 && len(marks) != map[bool]int{true: 1}[in.Events != nil] {
				t.Errorf("%s: %+v is remembered", name, marks)
			}
		}
	}
	r := Shown{Heads: []string{someID}}
	if marks := Marks(r, map[string]Event{someID: {ID: someID, D: "a", At: at, Expires: at + 60, Link: &Link{W: log}}}); len(marks) > 0 {
		t.Errorf("what will expire is remembered: %+v", marks)
	}
}

// TestExpiryIsToldAnew: of what events say of when a number expires, the later one counts,
// whatever their ids: what superseded it may expire later than was known.
func TestExpiryIsToldAnew(t *testing.T) {
	const log, at = "0a1b2c3d", int64(1_700_000_000)
	for _, c := range []struct{ before, after int64 }{{at + 60, at + 9000}, {at + 9000, at + 60}} {
		in := Evidence{Now: at + 600, Events: map[string]Event{}, Relays: []Shown{{URL: "A", Whole: true, Marks: []Mark{{W: log, N: 0, ID: someID, D: "a", At: at}}}}}
		for n, ends := range []int64{c.before, c.after} {
			id := map[bool]string{true: "a", false: "b"}[(n == 0) == (c.before < c.after)]
			in.Events[id] = Event{ID: id, D: id, At: at + int64(n), Link: &Link{W: log, N: int64(n) + 1, Ends: []End{{0, ends}}}}
		}
		want := 0
		if c.after <= in.Now {
			want = 1
		}
		if report := Judge(in); report.Counts[Expired] != want {
			t.Errorf("%d, then %d: %+v", c.before-at, c.after-at, report.Findings)
		}
		for _, e := range in.Events { // in the other order of ids
			e.Link.N = 3 - e.Link.N
		}
		if report := Judge(in); report.Counts[Expired] != 1-want {
			t.Errorf("%d, then %d: %+v", c.after-at, c.before-at, report.Findings)
		}
	}
}
