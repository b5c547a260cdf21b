package writerlog

import (
	"encoding/hex"
	"maps"
	"math"
	"slices"
)

// Accounting is what there is to tell whether an agent's core can be absent. Signatures
// and envelopes have been checked.
type Accounting struct {
	D        string           // the core's address
	Core     bool             // it is known otherwise that there was a core
	Events   map[string]Event // by id; those in no log tell of no number
	Units    []Unit
	Marks    []Mark                   // what relays showed once
	Own      map[string]map[int64]Own // what the writer's state knows, by log and number
	Known    map[string]int64         // by log the number up to which all were accounted for before
	Attested map[string]int64         // by log how many numbers it had when that was signed
}

// Accounts says how far the numbers of each log are accounted for.
type Accounts struct {
	Logs map[string]Accounted
	// Core says that a number was taken for the core: it was there, or may be.
	Core bool
}

// Accounted is an account of one log.
type Accounted struct {
	Newest int64 // the greatest number that anything tells of; -1: none
	Until  int64 // numbers from 0 to it are accounted for; -1: not even number 0 is
}

// Absent reports whether nothing that was ever written can be the core: of no log is
// any number known, or each is of another address, or of an event that nobody has.
func (a Accounts) Absent() bool {
	for _, l := range a.Logs {
		if l.Until < l.Newest {
			return false
		}
	}
	return !a.Core
}

// Written is how many numbers of all logs were taken, as far as that is known.
func (a Accounts) Written() (n int64) {
	for _, l := range a.Logs {
		n += min(l.Newest+1, math.MaxInt64-n)
	}
	return n
}

// Account says of each log up to which number all are accounted for at other addresses
// than the core's: by an event, a mark, a log unit, or a link of the state; or by being
// void. Where two ids have one number, both must be. A number of the state of unknown
// fate counts for its address, and forbids nothing where that is not known. It takes time
// for each number that something tells of, and none for those between them.
func Account(in Accounting) Accounts {
	a := accounting{in: in, logs: map[string]*mentions{}, at: map[string]string{}, void: map[string]bool{}, there: map[string]bool{}, open: map[string]bool{}}
	a.events()
	for _, u := range in.Units {
		for i, id := range u.IDs {
			d := ""
			if i < len(u.Ds) && u.Ds[i] != (Hash{}) {
				d = hex.EncodeToString(u.Ds[i][:])
			}
			a.tell(u.W, u.First+int64(i), hex.EncodeToString(id[:]), d)
		}
		a.voids(u.W, u.Void)
	}
	for _, m := range in.Marks {
		a.tell(m.W, m.N, m.ID, m.D)
	}
	for w, all := range in.Own {
		for n, o := range all {
			a.tell(w, n, o.ID, o.D)
			a.void[o.ID] = a.void[o.ID] || o.Void
			a.there[o.ID] = a.there[o.ID] || o.Stored
			a.open[o.ID] = !o.Void && !o.Stored
		}
	}
	for w, count := range in.Attested {
		a.log(w).newest = max(a.log(w).newest, count-1)
	}
	for w, n := range in.Known {
		a.log(w).newest = max(a.log(w).newest, n)
	}
	return a.result()
}

// maxIDs bounds the ids that are kept of one number, which is not accounted for then.
const maxIDs = 8

// accounting is Account at work.
type accounting struct {
	in    Accounting
	logs  map[string]*mentions
	at    map[string]string // addresses by id: the core's where anything says that
	void  map[string]bool   // ids that something names as void
	there map[string]bool   // ids whose events were seen, or stored
	open  map[string]bool   // ids whose fate the state does not know
}

// mentions are the numbers of a log that something tells of, with their ids.
type mentions struct {
	ids    map[int64][]string
	newest int64
}

func (a *accounting) log(w string) *mentions {
	l := a.logs[w]
	if l == nil {
		l = &mentions{ids: map[int64][]string{}, newest: -1}
		a.logs[w] = l
	}
	return l
}

// tell notes a number, the id that it was taken for, and its address; "" is not known.
func (a *accounting) tell(w string, n int64, id, d string) {
	l := a.log(w)
	l.newest = max(l.newest, n)
	if !slices.Contains(l.ids[n], id) && len(l.ids[n]) < maxIDs {
		l.ids[n] = append(l.ids[n], id)
	}
	if d != "" && a.at[id] != a.in.D {
		a.at[id] = d
	}
}

func (a *accounting) events() {
	for id, e := range a.in.Events {
		l := e.Link
		if l == nil {
			continue
		}
		a.tell(l.W, l.N, id, e.D)
		a.there[id] = true
		if l.Prev != "" {
			a.tell(l.W, l.N-1, l.Prev, "")
		}
		a.voids(l.W, l.Void)
		for _, h := range l.After {
			a.tell(h.W, h.N, h.ID, "")
		}
	}
}

func (a *accounting) voids(w string, all []Num) {
	for _, v := range all {
		a.tell(w, v.N, v.ID, "")
		a.void[v.ID] = true
	}
}

// elsewhere reports whether an id is accounted for.
func (a *accounting) elsewhere(id string) bool {
	nowhere := a.void[id] && !a.there[id]
	switch a.at[id] {
	case a.in.D:
		return nowhere
	case "":
		return nowhere || a.open[id]
	}
	return true
}

func (a *accounting) result() Accounts {
	out := Accounts{Logs: map[string]Accounted{}, Core: a.in.Core}
	for id, d := range a.at {
		out.Core = out.Core || d == a.in.D && !a.elsewhere(id)
	}
	for w, l := range a.logs {
		until := int64(-1)
		if n, ok := a.in.Known[w]; ok {
			until = n
		}
		for _, n := range slices.Sorted(maps.Keys(l.ids)) {
			if n > until+1 {
				break
			}
			ids := l.ids[n]
			if n == until+1 && len(ids) < maxIDs && !slices.ContainsFunc(ids, func(id string) bool { return !a.elsewhere(id) }) {
				until = n
			}
		}
		out.Logs[w] = Accounted{Newest: l.newest, Until: until}
	}
	return out
}
