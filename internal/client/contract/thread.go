package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/niptemp"
)

// Thread is everything that is known of one contract of one pair of keys.
type Thread struct {
	Contract Contract
	Entries  []Entry // in the order of arrival, as far as it is known
	Moves    []Move  // the same
	Order    *Order  // nil where no relay told it
	// Strangers is how many events under the same contract id are of other pairs
	// of keys, and were left out.
	Strangers int
	// API says that the contract is known from a relay's API: what that alone has,
	// private entries among them, is there.
	API bool

	last map[int]int64 // created_at of the caller's own newest event by kind
	salt nostr.Tags    // the tag that shows that the caller made the contract's id, if so
}

// perRelay makes one status of all that a relay was asked.
func perRelay(all []client.RelayStatus) []client.RelayStatus {
	var out []client.RelayStatus
	at := map[string]int{}
	for _, r := range all {
		i, ok := at[r.URL]
		if !ok {
			at[r.URL] = len(out)
			out = append(out, r)
			continue
		}
		m := &out[i]
		if r.Err != nil && (m.Err == nil || errors.Is(m.Err, client.ErrNoHistory)) {
			m.Err = r.Err
		}
		m.Events, m.Rejected, m.Complete, m.Took = m.Events+r.Events, m.Rejected+r.Rejected, m.Complete && r.Complete, max(m.Took, r.Took)
	}
	return out
}

// Thread reads a contract from every relay. with names the counterparty, in
// hex, where several pairs of keys have a contract of that id; "" finds it:
// what the API has, else the caller's own.
//
// The errors are ErrNotFound, ErrPartial, ErrNoRelay and ErrAuth as of other
// readings, and ErrAmbiguous.
func (cs *Contracts) Thread(ctx context.Context, id, with string) (Thread, client.Status, error) {
	ctx, cancel := cs.c.Operation(ctx)
	defer cancel()
	return cs.thread(ctx, id, with)
}

func (cs *Contracts) thread(ctx context.Context, id, with string) (Thread, client.Status, error) {
	if s, err := known(ctx, cs); err != nil {
		return Thread{}, s, err
	}
	if err := checkContractID(id); err != nil {
		return Thread{}, client.Status{}, err
	}
	reading, cancel := client.Part(ctx, 0.6)
	defer cancel()
	g := &gathering{c: cs.c, id: id, poster: cs.poster, col: client.NewCollector(), events: map[string]*nostr.Event{}}
	g.everywhere(reading)
	t := Thread{}
	contract, err := g.choose(with)
	status := g.status()
	switch {
	case err != nil:
		return t, status, err
	case contract == nil && client.Answered(g.relays) == 0:
		return t, status, client.NoRelay(g.relays)
	case contract == nil && status.Partial:
		return t, status, client.Failures(client.ErrPartial, status.Relays)
	case contract == nil:
		return t, status, client.ErrNotFound
	}
	t.Contract, t.API = *contract, contract.Home != ""
	if me := cs.c.Identity().PubKey(); t.Contract.party(me) || g.mayDecide(me, t.Contract) {
		g.history(reading, t.Contract)
	}
	t.Order = g.order(reading, t.Contract)
	status = g.status()
	g.fill(&t)
	return t, status, nil
}

// gathering collects what relays have of one contract id.
type gathering struct {
	c      *client.Client
	id     string
	poster string // as of Contracts
	col    *client.Collector

	mu     sync.Mutex
	events map[string]*nostr.Event // verified, by id
	relays []client.RelayStatus
	apis   []apiThread
}

func (g *gathering) status() client.Status {
	relays := append(perRelay(g.relays), g.c.Doubts()...)
	return client.Status{Relays: relays, Partial: client.Partial(relays), Doubtful: client.Rejected(relays)}
}

func (g *gathering) add(relays []client.RelayStatus, events []*nostr.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.relays = append(g.relays, relays...)
	for _, ev := range events {
		g.events[ev.ID] = ev
	}
}

// everywhere asks the API and the websocket of every relay. A party finds its
// own events also where the contract's id opens nothing (gate.contracts); that
// is refused then is no failure.
func (g *gathering) everywhere(ctx context.Context) {
	me := g.c.Identity().PubKey()
	filters := []nostr.Filter{g.filter(nil)}
	if me != "" {
		filters = append(filters, g.filter(func(f *nostr.Filter) { f.Authors = []string{me} }),
			g.filter(func(f *nostr.Filter) { f.Tags["p"] = []string{me} }))
	}
	var asking sync.WaitGroup
	for i, f := range filters {
		asking.Go(func() {
			a, _ := g.c.AskThose(ctx, g.c.Targets(), f)
			if i == 0 && (len(filters) > 1 || g.c.HTTP().ByToken()) {
				a.Relays = slices.DeleteFunc(a.Relays, func(r client.RelayStatus) bool { return errors.Is(r.Err, client.ErrAuth) })
			}
			g.add(a.Relays, a.Events)
		})
	}
	asking.Go(func() {
		start := time.Now()
		all := client.Each(ctx, g.c.Targets(),
			func(ctx context.Context, t client.Target) apiThread {
				a := apiContract(ctx, g.c, t, g.id, g.poster)
				if a.has && a.status.Err == nil {
					// Also without the contract: a stranger sees what is shared in it.
					apiEntries(ctx, g.c, t, g.id, g.poster, &a)
					apiMoves(ctx, g.c, t, g.id, g.poster, &a)
				}
				a.status.Took = time.Since(start)
				return a
			},
			func(t client.Target, err error) apiThread {
				return apiThread{status: client.RelayStatus{URL: t.URL, Err: err, Took: time.Since(start)}}
			})
		g.mu.Lock()
		defer g.mu.Unlock()
		g.apis = all
		for _, a := range all {
			g.relays = append(g.relays, a.status)
			for _, w := range a.entries {
				if ev := w.signed(g.col, g.id); ev != nil {
					g.events[ev.ID] = ev
				}
			}
			for _, w := range a.moves {
				if ev := signed(g.col, w.Event, kindState, g.id); ev != nil && ev.ID == w.EventID {
					g.events[ev.ID] = ev
				}
			}
		}
	})
	asking.Wait()
}

func (g *gathering) filter(change func(*nostr.Filter)) nostr.Filter {
	f := nostr.Filter{Kinds: []int{kindEntry, kindState}, Tags: nostr.TagMap{"d": {g.id}}}
	if change != nil {
		change(&f)
	}
	return f
}

// history adds the superseded events of both parties.
func (g *gathering) history(ctx context.Context, c Contract) {
	var asking sync.WaitGroup
	for _, author := range []string{c.Poster.PubKey, c.Worker.PubKey} {
		for _, kind := range []int{kindEntry, kindState} {
			if author == "" {
				continue
			}
			asking.Go(func() {
				a, _ := g.c.AskHistory(ctx, nostr.Filter{Kinds: []int{kind}, Authors: []string{author}, Tags: nostr.TagMap{"d": {g.id}}})
				g.add(a.Relays, a.Events)
			})
		}
	}
	asking.Wait()
}

// fill makes the thread of what was collected.
func (g *gathering) fill(t *Thread) {
	pair := pairOf(t.Contract.Poster.PubKey, t.Contract.Worker.PubKey)
	var states []*nostr.Event
	entries := map[string]Entry{} // by event id
	t.last = map[int]int64{}
	for _, ev := range g.events {
		if ev.PubKey == g.c.Identity().PubKey() {
			// A relay keeps one event of this key and contract, whoever it is to.
			t.last[ev.Kind] = max(t.last[ev.Kind], int64(ev.CreatedAt))
			if salt := niptemp.ProvenSalt(ev); salt != "" {
				t.salt = nostr.Tags{{"salt", salt}}
			}
		}
		of := g.pairOf(ev)
		if of != pair && !(of[0] == of[1] && of[0] == t.Contract.Poster.PubKey) {
			t.Strangers++
			continue
		}
		if ev.Kind == kindState {
			states = append(states, ev)
		} else if e, ok := entryOfEvent(g.c, ev); ok {
			entries[ev.ID] = e
		}
	}
	if offered, agreed := termsOf(states, t.Contract.Poster.PubKey, t.Contract.Worker.PubKey); len(states) > 0 {
		t.Contract.Offered, t.Contract.Agreed = offered.Or(t.Contract.Offered), agreed.Or(t.Contract.Agreed)
	}
	order := t.Order.places()
	state, moves := Replay(states, order)
	t.Moves = moves
	home := g.home(t.Contract)
	g.arrived(moves, home)
	if !t.API && state != nil {
		t.Contract.Status, t.Contract.UpdatedAt = string(state.Status), state.CreatedAt
		t.Contract.replayed(moves)
	}
	seen := map[string]bool{}
	for i, a := range g.apis {
		for at, w := range a.entries {
			e := w.entry()
			if i != home { // its numbers and times are of another thread
				e.N, e.K = 0, 0
			} else {
				e.rank = int64(at) + 1
			}
			g.fromAPI(t, w, e, entries, seen)
		}
	}
	for _, e := range entries {
		if item, ok := order[e.EventID]; ok {
			e.N, e.ArrivedAt = item.N, item.ReceivedAt
		}
		e.Author = named(t.Contract, e.Author)
		t.Entries = append(t.Entries, e)
	}
	t.Entries = Arrange(t.Entries, func(e *Entry) Place {
		return Place{N: e.rank, CreatedAt: e.CreatedAt, ID: cmp.Or(e.EventID, e.EntryID)}
	})
}

// fromAPI adds an entry of an API to those that are known by their events.
func (g *gathering) fromAPI(t *Thread, w wireEntry, e Entry, entries map[string]Entry, seen map[string]bool) {
	ev := w.signed(g.col, g.id)
	if known := g.events[e.EventID]; ev == nil && known != nil && known.Kind == kindEntry {
		ev = known
	}
	if e.Signature != SignatureNone && ev != nil {
		signed, ok := entries[ev.ID]
		if !ok {
			signed, ok = entryOfEvent(g.c, ev)
		}
		if ok {
			switch {
			case signed.Unreadable && w.Opened: // by the relay, which keeps the key
				signed.Content, signed.Attachments, signed.Unreadable, signed.ByRelay = w.Content, w.Attachments, false, true
				signed.Signature = SignatureUnseen
			case signed.Signature == SignatureHolds && !w.says(ev, signed):
				signed.Signature = SignatureDiffers
			}
			if e.rank > 0 {
				signed.rank, signed.N, signed.ArrivedAt = e.rank, e.N, e.ArrivedAt
			}
			signed.ArrivedAt = cmp.Or(signed.ArrivedAt, e.ArrivedAt)
			if signed.Withdrawn == nil || signed.Withdrawn.Event == nil {
				signed.Withdrawn = cmp.Or(e.Withdrawn, signed.Withdrawn)
			}
			entries[ev.ID] = signed
			return
		}
	}
	// Two relays may both have what is private, or what is not published yet.
	key := cmp.Or(e.EventID, e.EntryID)
	if seen[key] {
		return
	}
	if e.Signature != SignatureNone {
		for _, known := range entries {
			if known.EntryID == e.EntryID {
				return // its event was seen: it was published meanwhile
			}
		}
	}
	seen[key] = true
	e.Author = named(t.Contract, e.Author)
	if e.Sealed && w.Opened {
		e.ByRelay = true
	} else if e.Sealed {
		e.Content, e.Unreadable = "", true
	}
	t.Entries = append(t.Entries, e)
}

// home returns the place among the APIs of the one that keeps the contract; of
// a contract that is shown to the caller by its entries alone, the first that
// has any; -1 for none.
func (g *gathering) home(c Contract) int {
	for i, a := range g.apis {
		if a.contract != nil && c.Home == a.contract.Home || c.Home == "" && len(a.entries) > 0 {
			return i
		}
	}
	return -1
}

// named gives a party the label that the contract has for it.
func named(c Contract, p Party) Party {
	if p.AgentID == "" {
		p.AgentID = c.agentID(p.PubKey)
	}
	return p
}

// pairOf returns a pair of keys, the lower one first; a key alone is a pair
// with itself.
func pairOf(a, b string) [2]string {
	if b == "" {
		b = a
	}
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

// errPairs names the pairs among which a contract could not be chosen.
func errPairs(pairs [][2]string) error {
	text := make([]string, 0, len(pairs))
	for i, p := range pairs {
		if i == 5 {
			text = append(text, "…")
			break
		}
		text = append(text, p[0]+" and "+p[1])
	}
	return fmt.Errorf("%w; name the other party: %s", ErrAmbiguous, strings.Join(text, "; "))
}
