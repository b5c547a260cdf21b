package writerlog

import (
	"encoding/hex"
	"maps"
	"math"
	"slices"
)

// Accounts says how far the numbers of each log are accounted for.
type Accounts struct {
	Logs map[string]Accounted
	// Core says that a number was taken for the core: it was there, or may be.
	Core bool
}

// Accounted is an account of one log.
type Accounted struct {
	Newest int64 // the greatest number that anything tells of
	Until  int64 // numbers from 0 to it are accounted for; -1: not even number 0 is
}

// Absent reports whether nothing that was ever written can be the core: of no log is
// any number known, or each is of another address, or of an event that nobody has.
func (a Accounts) Absent() bool {
	return !a.Core && !slices.ContainsFunc(slices.Collect(maps.Values(a.Logs)), func(l Accounted) bool { return l.Until < l.Newest })
}

// Written is how many numbers of all logs were taken, as far as that is known.
func (a Accounts) Written() (n int64) {
	for _, l := range a.Logs {
		n += min(l.Newest+1, math.MaxInt64-n)
	}
	return n
}

// Account says of each log up to which number all are accounted for at other addresses
// than core: by an event, a mark, a log unit, or the state; or by being void. Where two
// ids have one number, both must be. A number of the state of unknown fate counts for its
// address, and forbids nothing where that is not known. known has by log the number up to
// which all were accounted for before, and attested how many numbers it had once. It
// takes time for each number that something tells of, and none for those between.
func Account(in Evidence, core string, known, attested map[string]int64) Accounts {
	j := judging{in: in, report: Report{Counts: map[Kind]int{}}, logs: map[string]*log{}, there: map[string]bool{}}
	j.gather()
	at := map[string]string{} // addresses by id
	for _, u := range in.Units {
		for i, d := range u.Ds {
			if d != (Hash{}) {
				at[hex.EncodeToString(u.IDs[i][:])] = hex.EncodeToString(d[:])
			}
		}
	}
	for _, r := range in.Relays {
		for _, m := range r.Marks {
			j.log(m.W).num(m.N).know(m.ID)
			at[m.ID] = m.D
		}
	}
	for _, all := range in.Own {
		for _, o := range all {
			if o.D != "" {
				at[o.ID] = o.D
			}
		}
	}
	for id, e := range in.Events {
		at[id] = e.D
	}
	for w := range known {
		j.log(w)
	}
	out := Accounts{Logs: map[string]Accounted{}}
	for w, l := range j.logs {
		until, ok := known[w]
		if !ok {
			until = -1
		}
		for _, n := range slices.Sorted(maps.Keys(l.of)) {
			elsewhere, is := l.of[n].whose(core, at, in.Events)
			out.Core = out.Core || is
			if elsewhere && n == until+1 {
				until = n
			}
		}
		out.Logs[w] = Accounted{Newest: max(l.last, attested[w]-1, until), Until: until}
	}
	return out
}

// whose reports whether a number is accounted for at other addresses than the core's, or
// is the core's.
func (n *num) whose(core string, at map[string]string, seen map[string]Event) (elsewhere, is bool) {
	elsewhere = len(n.ids) < maxIDs
	for _, id := range n.ids {
		_, there := seen[id]
		is = is || at[id] == core && (there || n.stored || !n.void)
		elsewhere = elsewhere && (n.void || at[id] != "" || n.ends > 0 || n.own && !n.stored && n.d == "") // the core never expires
	}
	return elsewhere && !is, is
}
