package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// View is what a key is shown of a contract id.
type View struct {
	Role           string // poster, worker, arbitrator, decider, stranger or nobody
	Poster, Worker string // Worker is "" while none is named
	Status         string // "" of a contract of which only entries are known
	Offered        Terms
	Agreed         Terms
	Entries, Moves []string // lines, in order; see Line
	By             []string // who made each of the moves
	Order          []string // of all that has a number, with gaps; nil for who may not know it
	// Local says that the relay has moved it without an event, Second that
	// another took the offer first or was named before, Astray that states are
	// there which do not follow, and Gaps that states had to go.
	Local, Second, Astray, Gaps bool
}

// Between reports whether two views are of the same parties. Who spoke first of
// a contract without a state is what each relay heard first.
func (v *View) Between(o *View) bool {
	same := v.Poster == o.Poster && v.Worker == o.Worker
	return same || v.Status == "" && v.Poster == o.Worker && v.Worker == o.Poster
}

// Name gives the parties of a view that a relay showed their keys where
// something else stands for one who has vanished.
func (r *Relay) Name(got, want *View) {
	if got == nil || want == nil {
		return
	}
	for _, of := range [][2]*string{{&got.Poster, &want.Poster}, {&got.Worker, &want.Worker}} {
		if _, gone := r.vanished[*of[1]]; gone && len(*of[0]) == 64 && !NewCast().knows(*of[0]) {
			*of[0] = *of[1]
		}
	}
}

// Line is what is compared of an item: for those who read the whole thread its
// number, its arrival and whether it was withdrawn; for others that it is
// there.
func Line(whole bool, n, received int64, id, withdrawn string) string {
	if !whole {
		return id[:12]
	}
	return strings.TrimSpace(fmt.Sprintf("%d %d %s %s", n, received, id[:12], withdrawn))
}

// Bare leaves of a line what every relay that has the event must say of it.
func Bare(line string) string {
	f := strings.Fields(line)
	if len(f) == 1 {
		return line
	}
	bare := f[2]
	if len(f) > 3 {
		bare += " withdrawn"
	}
	return bare
}

// Gap is the line of what had to go.
func Gap(n, received int64, kind, role, status, previous string, created int64) string {
	return fmt.Sprintf("%d %d - %s %q %s %s %d", n, received, kind, role, status, previous, created)
}

// LocalMove stands for a move that no event says.
const LocalMove = "decided on this relay alone, to "

// View is what a key finds under a contract id, nil for nothing. An empty key is
// nobody. byName says that naming a contract opens it to everybody.
func (r *Relay) View(id, key string, byName bool) *View {
	c := r.Contracts[id]
	if c == nil {
		return nil
	}
	if len(c.states) == 0 {
		return r.talk(c, key)
	}
	s := c.meaning(key)
	if s == nil {
		return nil
	}
	v := &View{Role: c.role(s, key), Poster: s.Poster, Status: s.Status, Local: s.Local, Second: s.second || c.apart(s),
		Offered: c.Offered(s.Poster, s.Worker), Agreed: c.Agreed(s.Poster, s.Worker)}
	if s.Worker != s.Poster {
		v.Worker = s.Worker
	}
	if !byName && (v.Role == "nobody" || v.Role == "stranger" || v.Role == "decider" && s.Status != "disputed") {
		return nil
	}
	r.fill(v, c, s)
	if s.Local && final(s.Status) && v.Role != "nobody" && v.Role != "stranger" {
		v.Moves, v.By = append(v.Moves, LocalMove+s.Status), append(v.By, "deadline")
	}
	return v
}

// apart reports whether what a poster wrote to himself counts elsewhere.
func (c *Contract) apart(s *State) bool {
	own := c.threads[pairOf(s.Poster, s.Poster)]
	return own != nil && own != c.threads[pairOf(s.Poster, s.Worker)]
}

// talk is a contract of which only entries are known: their parties find it.
func (r *Relay) talk(c *Contract, key string) *View {
	var found *talk
	for _, t := range c.talks {
		if t.has(key) && (found == nil || found.pair[0] == found.pair[1] && t.pair[0] != t.pair[1]) {
			found = t
		}
	}
	if found == nil {
		return nil
	}
	s := &State{Poster: found.first, Worker: found.other(found.first)}
	v := &View{Role: c.role(s, key), Poster: s.Poster}
	if s.Worker != s.Poster {
		v.Worker = s.Worker
	}
	r.fill(v, c, s)
	return v
}

func (c *Contract) role(s *State, key string) string {
	agreed := c.Agreed(s.Poster, s.Worker)
	switch {
	case key == "":
		return "nobody"
	case key == s.Poster:
		return "poster"
	case key == s.Worker:
		return "worker"
	case key == agreed.Arbitrator && s.Status != "open":
		return "arbitrator"
	case key == agreed.Decider:
		return "decider"
	}
	return "stranger"
}

// meaning is the contract that an id means to a key: the owner's to the owner;
// to who accepted a contract that one; else that of the owner and him, what he
// offers himself, what names him, what he is to settle; and the owner's to
// everybody else.
func (c *Contract) meaning(key string) *State {
	if key != "" && key != c.Owner {
		for _, a := range c.accepted {
			if a.worker == key {
				return c.states[pairOf(a.poster, a.worker)]
			}
		}
		if s := c.states[pairOf(c.Owner, key)]; s != nil {
			return s
		}
		if s := c.standing(key); s != nil {
			return s
		}
		all := slices.SortedFunc(values(c.states), byAge)
		for _, s := range all {
			if !s.taken && (s.Poster == key || s.Worker == key) {
				return s
			}
		}
		for _, s := range all {
			if !s.taken && s.Status != "open" && c.Agreed(s.Poster, s.Worker).Arbitrator == key {
				return s
			}
		}
	}
	if s := c.standing(c.Owner); s != nil || c.Committed || key == c.Owner && key != "" {
		return s
	}
	for _, s := range slices.SortedFunc(values(c.states), byAge) {
		if !s.taken {
			return s
		}
	}
	return nil
}

// fill lists what the view's role reads.
func (r *Relay) fill(v *View, c *Contract, s *State) {
	party := v.Role == "poster" || v.Role == "worker"
	whole := party || v.Role == "arbitrator" || v.Role == "decider" && s.Status == "disputed"
	p := pairOf(s.Poster, s.Worker)
	own := c.threads[p]
	for _, it := range inOrder(c.items()) {
		who, to := it.Event.PubKey, it.to()
		ours := p.has(who) && p.has(to) && (who != to || who == s.Poster && (s.Status != "" || p[0] == p[1]))
		offered := who == to && it.thread != own // and another took the offer
		if it.Event.Kind == KindState {
			ours = ours && offered || it.thread == own && (ours || it.decides())
		}
		if !ours || offered && it.Gone {
			continue
		}
		v.Astray = v.Astray || it.astray
		if it.Gone {
			v.Gaps = v.Gaps || it.Event.Kind == KindState
			if whole {
				v.Order = append(v.Order, it.gap())
			}
			continue
		}
		if whole {
			v.Order = append(v.Order, Line(true, it.N, it.Received, it.Event.ID, ""))
		}
		if it.Withdrawn && !whole || it.sealed && !party && v.Role != "arbitrator" {
			continue
		}
		line := Line(whole, it.N, it.Received, it.Event.ID, r.withdrawn(it))
		if it.Event.Kind == KindState {
			v.Moves, v.By = append(v.Moves, line), append(v.By, c.mover(s, it))
		} else {
			v.Entries = append(v.Entries, line)
		}
	}
}

// mover is what the author of a move is: of a decision the arbitrator, or the
// expirer or the decider that the poster has named.
func (c *Contract) mover(s *State, it *Item) string {
	switch who := it.Event.PubKey; {
	case who == s.Poster:
		return "poster"
	case who == s.Worker || !it.decides():
		return "worker"
	case it.status == "expired":
		return "deadline"
	case who == c.Agreed(s.Poster, s.Worker).Arbitrator:
		return "arbitrator"
	}
	return "operator"
}

func (it *Item) gap() string {
	created := int64(0)
	if it.Event.Kind == KindState {
		created = int64(it.Event.CreatedAt)
	}
	return Gap(it.N, it.Received, it.kind, it.Role, it.status, it.previous, created)
}

// withdrawn says whether an item was withdrawn, and whether the signed request
// is shown or its id.
func (r *Relay) withdrawn(it *Item) string {
	switch {
	case !it.Withdrawn:
		return ""
	case r.Signed(it.contract, it.Request):
		return "withdrawn signed " + it.Request[:12]
	}
	return "withdrawn by " + it.Request[:12]
}

// Request is what a reader asks a subscription for: everything of a contract,
// or of that what he wrote, or what names him.
type Request int

// What is asked for.
const (
	ByContract Request = iota
	Mine
	ToMe
)

// Heads are the ids that a reader is shown of a contract; refused says that he
// may not ask.
func (r *Relay) Heads(id, key string, q Request, byName bool) (ids []string, refused bool) {
	if key == "" && q != ByContract {
		return nil, true
	}
	if q == ByContract && !byName && !slices.ContainsFunc(r.cases(id, key), func(cs []string) bool { return len(cs) > 0 }) {
		return nil, true
	}
	for _, it := range r.heads {
		mine, toMe := it.mine(key)
		switch {
		case it.contract != id, q == Mine && !mine, q == ToMe && !toMe:
		case r.reads(it, key, byName && q == ByContract):
			ids = append(ids, it.Event.ID)
		}
	}
	slices.Sort(ids)
	return ids, false
}

// Hears reports whether who listens to all of a contract is told of an event of
// it that comes now.
func (r *Relay) Hears(ev *nostr.Event, key string, byName bool) bool {
	return r.reads(&Item{said: read(ev), Event: ev}, key, byName)
}

func (r *Relay) reads(it *Item, key string, byName bool) bool {
	mine, toMe := it.mine(key)
	return mine || toMe || byName && !it.sealed || r.inCase(it, key)
}

// mine reports whether a key wrote an item, and whether it names the key.
func (it *Item) mine(key string) (mine, toMe bool) {
	return it.Event.PubKey == key && key != "", slices.Contains(it.keys, key) && key != ""
}

// cases are the keys of each case of a contract that a key is to settle.
func (r *Relay) cases(id, key string) (all [][]string) {
	c := r.Contracts[id]
	if c == nil || key == "" {
		return nil
	}
	for _, a := range c.repeated {
		if t := c.Agreed(a.poster, a.worker); t.Arbitrator == key {
			all = append(all, []string{a.poster, a.worker, t.Arbitrator, t.Decider, t.Expirer})
		}
	}
	return all
}

// inCase reports whether an item is what those of a case said to each other in
// the open.
func (r *Relay) inCase(it *Item, key string) bool {
	return !it.sealed && slices.ContainsFunc(r.cases(it.contract, key), func(keys []string) bool {
		return slices.Contains(keys, it.Event.PubKey) && !slices.ContainsFunc(it.keys, func(k string) bool { return !slices.Contains(keys, k) })
	})
}

// History are the lines that a reader is shown of what an author said of a
// contract before, or took back, the last that arrived first.
func (r *Relay) History(id, author string, kind int, key string) (lines []string) {
	var all []*Item
	for _, it := range r.held {
		if it.contract != id || it.Event.PubKey != author || it.Event.Kind != kind || it.Gone || r.heads[addressOf(it.Event)] == it {
			continue
		}
		if key == author || slices.Contains(it.keys, key) || r.inCase(it, key) {
			all = append(all, it)
		}
	}
	slices.SortFunc(all, func(x, y *Item) int { return int(y.arrival - x.arrival) })
	for _, it := range all {
		lines = append(lines, Line(true, it.N, it.Received, it.Event.ID, r.withdrawn(it)))
	}
	return lines
}
