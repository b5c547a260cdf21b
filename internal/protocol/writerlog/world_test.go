package writerlog

import (
	"cmp"
	"encoding/hex"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// world is a pair with several writers and relays, as they are: answers are lost,
// writers are killed between their state and the wire, relays are away.
type world struct {
	t       *testing.T
	rand    *rand.Rand
	now     int64
	relays  []*simRelay
	writers []*simWriter
	events  map[string]Event
	units   []Unit
	flying  []Event // sent, and not arrived
}

// simRelay keeps heads and superseded events.
type simRelay struct {
	url     string
	heads   map[string]string // by address
	past    []string
	promise Promise
	away    bool
	marks   []Mark
	sloppy  int // superseded events that it drops at once, promise or not
}

// simWriter is what one installation keeps: its log as internal/memory/state does.
type simWriter struct {
	w     string
	own   []Own
	named map[int64]int64 // void numbers, by the event that names them
	after []Head
	tree  Tree
	units int64
	bare  bool // it has no state: a Buzz, or an older engramctl
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 18)), now: 1_700_000_000, events: map[string]Event{}}
	for i := range 3 {
		w.relays = append(w.relays, &simRelay{url: string(rune('A' + i)), heads: map[string]string{}, promise: Promise{Made: true, Versions: 100, Days: 365}})
	}
	w.writers = []*simWriter{w.writer(), w.writer()}
	return w
}

func (w *world) writer() *simWriter { return &simWriter{w: w.name(), named: map[int64]int64{}} }

func (w *world) name() string {
	return hex.EncodeToString([]byte{byte(w.rand.Uint32()), byte(w.rand.Uint32()), byte(w.rand.Uint32()), byte(w.rand.Uint32())})
}

func (w *world) id() string {
	var id Hash
	for i := range id {
		id[i] = byte(w.rand.Uint32())
	}
	return hex.EncodeToString(id[:])
}

func (w *world) maybe(percent int) bool { return w.rand.IntN(100) < percent }

// put stores an event as NIP-01 has it; false: a newer one is there.
func (r *simRelay) put(e Event, events map[string]Event) bool {
	old, ok := r.heads[e.D]
	if ok {
		o := events[old]
		if o.At > e.At || o.At == e.At && o.ID <= e.ID {
			return o.ID == e.ID
		}
		r.past = append(r.past, old)
		if over := r.of(e.D, events); r.promise.Made && r.promise.Versions > 0 && int64(len(over)) > r.promise.Versions {
			r.drop(over[0])
		}
	}
	r.heads[e.D] = e.ID
	return true
}

// of returns the superseded events of an address, the oldest first.
func (r *simRelay) of(d string, events map[string]Event) (ids []string) {
	for _, id := range r.past {
		if events[id].D == d {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(events[a].At, events[b].At), cmp.Compare(b, a)) })
	return ids
}

func (r *simRelay) drop(id string) {
	r.past = slices.DeleteFunc(r.past, func(other string) bool { return other == id })
	maps.DeleteFunc(r.heads, func(_, other string) bool { return other == id })
}

func (r *simRelay) has(id string) bool {
	return slices.Contains(r.past, id) || slices.Contains(slices.Collect(maps.Values(r.heads)), id)
}

// behind reports whether relays that answer tell of a number that the state does
// not have: it is a restored backup.
func (w *world) behind(s *simWriter) bool {
	foreign := func(n int64, id string) bool { return n >= int64(len(s.own)) || s.own[n].ID != id }
	for _, r := range w.relays {
		for _, id := range slices.Concat(slices.Collect(maps.Values(r.heads)), r.past) {
			l := w.events[id].Link
			if r.away || l == nil {
				continue
			}
			if l.W == s.w && foreign(l.N, id) {
				return true
			}
			for _, h := range l.After {
				if h.W == s.w && foreign(h.N, h.ID) {
					return true
				}
			}
		}
	}
	return false
}

// begin begins another log after all that is seen.
func (w *world) begin(s *simWriter) {
	*s = simWriter{w: w.name(), named: map[int64]int64{}}
	last := map[string]Head{}
	for _, r := range w.relays {
		for _, id := range r.heads {
			if l := w.events[id].Link; !r.away && l != nil && (last[l.W].W == "" || l.N > last[l.W].N) {
				last[l.W] = Head{l.W, l.N, id}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(last)) {
		if len(s.after) < MaxAfter {
			s.after = append(s.after, last[name])
		}
	}
}

// settle looks up what has no answer.
func (w *world) settle(s *simWriter) {
	for n, o := range s.own {
		if o.Stored || o.Void {
			continue
		}
		whole := true
		var found []string
		for _, r := range w.relays {
			whole = whole && !r.away
			if !r.away && r.has(o.ID) {
				found = append(found, r.url)
			}
		}
		s.own[n].Stored, s.own[n].Void, s.own[n].Took = len(found) > 0, len(found) == 0 && whole, found
		if s.own[n].Void { // what it named is named again
			maps.DeleteFunc(s.named, func(_, by int64) bool { return by == int64(n) })
		}
	}
}

// write writes one event of a writer, whatever becomes of it.
func (w *world) write(s *simWriter) {
	w.now += int64(w.rand.IntN(600))
	e := Event{ID: w.id(), D: string(rune('a' + w.rand.IntN(5))), At: w.now}
	e.Slug = "mem/" + e.D
	if s.bare {
		w.send(nil, -1, e)
		return
	}
	if !slices.ContainsFunc(w.relays, func(r *simRelay) bool { return !r.away }) {
		return
	}
	if w.behind(s) {
		w.begin(s)
	}
	w.settle(s)
	l := Link{W: s.w, N: int64(len(s.own)), T: e.At}
	if l.N == 0 {
		l.After = s.after
	} else {
		l.Prev = s.own[l.N-1].ID
	}
	l.Root = s.tree.Root(l.N)
	var open []int64
	for n, o := range s.own {
		switch by, named := s.named[int64(n)]; {
		case o.Void && !named && len(l.Void) < MaxVoid:
			l.Void = append(l.Void, Num{int64(n), o.ID})
			s.named[int64(n)] = l.N
		case !o.Stored && (!named || !s.own[by].Stored):
			open = append(open, int64(n))
		}
	}
	l.Open = Spans(open)
	e.Link = &l
	id, _ := ParseID(e.ID)
	s.tree.Append(id)
	s.own = append(s.own, Own{ID: e.ID, D: e.D, At: e.At})
	if w.maybe(5) {
		if w.events[e.ID] = e; w.maybe(50) {
			w.flying = append(w.flying, e)
		}
		return // killed between the state and the wire, or just behind
	}
	w.send(s, l.N, e)
}

// send sends an event to all relays, and notes what became of it.
func (w *world) send(s *simWriter, n int64, e Event) {
	w.events[e.ID] = e
	var took []string
	silent := false
	for _, r := range w.relays {
		switch {
		case r.away:
			silent = true
		case w.maybe(3): // refused
		case w.maybe(5): // its answer is lost
			r.put(e, w.events)
			silent = true
		default:
			if r.put(e, w.events) {
				took = append(took, r.url)
			}
		}
	}
	if s == nil {
		return
	}
	s.own[n].Stored, s.own[n].Void, s.own[n].Took = len(took) > 0, len(took) == 0 && !silent, took
	if s.own[n].Void {
		maps.DeleteFunc(s.named, func(_, by int64) bool { return by == n })
	}
}

// live lets writers write for a while.
func (w *world) live(writes int) {
	var backup *simWriter
	for range writes {
		s := w.writers[w.rand.IntN(len(w.writers))]
		switch w.rand.IntN(40) {
		case 0: // a relay goes away, or comes back
			r := w.relays[w.rand.IntN(len(w.relays))]
			r.away = !r.away
		case 1:
			backup = s.copy()
		case 2:
			if backup != nil && !slices.ContainsFunc(w.relays, func(r *simRelay) bool { return r.away }) {
				*s = *backup.copy()
				w.flying = nil // with the machine its connections went
			}
		case 3: // copied dotfiles: the state knows that it is elsewhere, and begins anew
			w.begin(s)
		case 5: // what nobody waited for arrives
			for _, e := range w.flying {
				if r := w.relays[w.rand.IntN(len(w.relays))]; !r.away {
					r.put(e, w.events)
				}
			}
			w.flying = nil
		case 4:
			(&simWriter{bare: true}).writeIn(w)
		}
		w.write(s)
	}
}

func (s *simWriter) writeIn(w *world) { w.write(s) }

func (s *simWriter) copy() *simWriter {
	c := *s
	c.own, c.named = slices.Clone(s.own), maps.Clone(s.named)
	c.tree = Tree{n: s.tree.n, stored: slices.Clone(s.tree.stored)}
	return &c
}

// evidence is what relays show of it, and what a machine knows.
func (w *world) evidence(own *simWriter) Evidence {
	in := Evidence{Events: map[string]Event{}, Units: w.units, Now: w.now}
	for _, r := range w.relays {
		s := Shown{URL: r.url, Whole: !r.away, History: !r.away, Marks: r.marks}
		if !r.away { // what one that is away promises is not known
			s.Heads, s.Past, s.Promise = slices.Sorted(maps.Values(r.heads)), slices.Clone(r.past), r.promise
		}
		for _, ids := range [][]string{s.Heads, s.Past} {
			for _, id := range ids {
				in.Events[id] = w.events[id]
			}
		}
		in.Relays = append(in.Relays, s)
	}
	if own != nil {
		in.Own = map[string][]Own{own.w: own.own}
	}
	return in
}

// look is what a machine remembers of having looked.
func (w *world) look() {
	for i, s := range w.evidence(nil).Relays {
		if s.Whole {
			w.relays[i].marks = Marks(s, w.events)
		}
	}
}
