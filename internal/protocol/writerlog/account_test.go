package writerlog

import (
	"fmt"
	"slices"
	"testing"
)

// accounting is what Account is given.
type accounting struct {
	Events          map[string]Event
	Units           []Unit
	Marks           []Mark
	Own             map[string][]Own
	Known, Attested map[string]int64
}

func (a accounting) of(core string) Accounts {
	in := Evidence{Events: a.Events, Units: a.Units, Own: a.Own, Relays: []Shown{{Marks: a.Marks}}}
	return Account(in, core, a.Known, a.Attested)
}

// TestAccount: what accounts for numbers of logs, and what does not.
func TestAccount(t *testing.T) {
	const w, other = "0a1b2c3d", "99999999"
	core, away := fmt.Sprintf("%064x", 0xc0), fmt.Sprintf("%064x", 0xaa)
	id := func(n int64) string { return fmt.Sprintf("%064x", 0x1000+n) }
	hash := func(s string) Hash { h, _ := ParseID(s); return h }
	event := func(n int64, d string) Event {
		l := &Link{W: w, N: n}
		if n > 0 {
			l.Prev = id(n - 1)
		}
		return Event{ID: id(n), D: d, Link: l}
	}
	events := func(all ...Event) map[string]Event {
		out := map[string]Event{}
		for _, e := range all {
			out[e.ID] = e
		}
		return out
	}
	own := func(all ...Own) map[string][]Own {
		for n := range all {
			all[n].ID = id(int64(n))
		}
		return map[string][]Own{w: all}
	}
	with := func(e Event, change func(*Event)) Event { change(&e); return e }
	unit := Unit{W: w, IDs: []Hash{hash(id(0)), hash(id(1))}, Ds: []Hash{hash(away), hash(away)}}
	for name, c := range map[string]struct {
		in            accounting
		absent        bool
		until, newest int64 // of the log w
		written       int64
	}{
		"nothing is known":              {accounting{}, true, 0, 0, 0},
		"an event in no log":            {accounting{Events: events(Event{ID: id(0), D: core})}, true, 0, 0, 0},
		"own links elsewhere":           {accounting{Own: own(Own{D: away, Stored: true}, Own{D: away})}, true, 1, 1, 2},
		"a core of this machine":        {accounting{Own: own(Own{D: away, Stored: true}, Own{D: core, Stored: true})}, false, 0, 1, 2},
		"a core of unknown fate":        {accounting{Own: own(Own{D: core})}, false, -1, 0, 1},
		"a core that nobody has":        {accounting{Own: own(Own{D: core, Void: true})}, true, 0, 0, 1},
		"a void core that is there":     {accounting{Own: own(Own{D: core, Void: true}), Events: events(event(0, core))}, false, -1, 0, 1},
		"unknown fate, unknown address": {accounting{Own: own(Own{})}, true, 0, 0, 1},
		"the same, and it was the core": {accounting{Own: own(Own{}), Events: events(event(0, core))}, false, -1, 0, 1},
		"stored, unknown address":       {accounting{Own: own(Own{Stored: true})}, false, -1, 0, 1},
		"the same, and an event":        {accounting{Own: own(Own{Stored: true}), Events: events(event(0, away))}, true, 0, 0, 1},
		"events elsewhere":              {accounting{Events: events(event(0, away), event(1, away))}, true, 1, 1, 2},
		"an older core":                 {accounting{Events: events(event(0, core), event(1, away))}, false, -1, 1, 2},
		"a gap":                         {accounting{Events: events(event(0, away), event(3, away))}, false, 0, 3, 4},
		"the first is nowhere":          {accounting{Events: events(event(1, away))}, false, -1, 1, 2},
		"a gap that is void": {accounting{Events: events(event(0, away), with(event(2, away), func(e *Event) {
			e.Link.Void = []Num{{1, id(1)}}
		}))}, true, 2, 2, 3},
		"units with addresses":    {accounting{Units: []Unit{unit}, Events: events(event(2, away))}, true, 2, 2, 3},
		"units without":           {accounting{Units: []Unit{{W: w, IDs: unit.IDs}}, Events: events(event(2, away))}, false, -1, 2, 3},
		"a unit that lacks one":   {accounting{Units: []Unit{{W: w, IDs: unit.IDs, Ds: []Hash{hash(away), {}}}}}, false, 0, 1, 2},
		"a unit with the core":    {accounting{Units: []Unit{{W: w, IDs: unit.IDs, Ds: []Hash{hash(away), hash(core)}}}}, false, 0, 1, 2},
		"a unit of void numbers":  {accounting{Units: []Unit{{W: w, First: 1, Void: []Num{{1, id(1)}}}}, Events: events(event(0, away))}, true, 1, 1, 2},
		"a log that came before":  {accounting{Events: events(with(event(0, away), func(e *Event) { e.Link.After = []Head{{other, 4, id(9)}} }))}, false, 0, 0, 6},
		"known before":            {accounting{Known: map[string]int64{w: 4}, Events: events(event(5, away))}, true, 5, 5, 6},
		"known before, and a gap": {accounting{Known: map[string]int64{w: 3}, Events: events(event(5, away))}, false, 3, 5, 6},
		"a core beside that":      {accounting{Known: map[string]int64{w: 4}, Own: own(Own{D: core, Stored: true})}, false, 4, 4, 5},
		"attested":                {accounting{Attested: map[string]int64{w: 2}, Events: events(event(0, away))}, false, 0, 1, 2},
		"attested, and no more":   {accounting{Attested: map[string]int64{w: 1}, Events: events(event(0, away))}, true, 0, 0, 1},
		"a relay showed it once":  {accounting{Marks: []Mark{{W: w, N: 0, ID: id(0), D: away}}}, true, 0, 0, 1},
		"a relay showed a core":   {accounting{Marks: []Mark{{W: w, N: 0, ID: id(0), D: core}}}, false, -1, 0, 1},
		"forked, one is nowhere":  {accounting{Events: events(event(0, away), Event{ID: id(7), D: away, Link: &Link{W: w, N: 1, Prev: id(8)}})}, false, -1, 1, 2},
		"forked, one is the core": {accounting{Own: own(Own{D: away, Stored: true}), Events: events(Event{ID: id(7), D: core, Link: &Link{W: w}})}, false, -1, 0, 1},
		"a number far ahead":      {accounting{Events: events(event(maxN, away))}, false, -1, maxN, maxN + 1},
	} {
		got := c.in.of(core)
		if got.Absent() != c.absent || got.Written() != c.written {
			t.Errorf("%s: absent %v, written %d times, of %+v", name, got.Absent(), got.Written(), got)
		}
		if want := (Accounted{Newest: c.newest, Until: c.until}); c.written > 0 && got.Logs[w] != want {
			t.Errorf("%s: %+v, want %+v", name, got.Logs[w], want)
		}
	}
	var forks []Event // more than are kept of one number
	for n := range int64(2 * maxIDs) {
		forks = append(forks, Event{ID: id(n), D: away, Link: &Link{W: w}})
	}
	forks = slices.Concat(forks, []Event{{ID: id(99), D: away, Link: &Link{W: w, N: 1, Prev: id(98)}}})
	if got := (accounting{Events: events(forks...)}).of(core); got.Absent() {
		t.Errorf("of many forks: %+v", got)
	}
}
