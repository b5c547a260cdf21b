package contract

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// Listing is the contracts of a key, as far as relays are asked for them.
type Listing struct {
	Contracts []Contract // newest change first
	// More says that relays have more: contracts that others made or changed, and in
	// which the key did nothing, or more of its own than mostOwn.
	More bool
}

// Anybody can name anybody as his worker or arbitrator. Of what others address to a
// key the newest are asked for, and beside them what belongs to the contracts in
// which the key did something itself: strangers cannot make these disappear, nor the
// list long, slow or fail.
const (
	mostOffered = 500   // state events to the key, and contracts of each relay's API
	mostOwn     = 5_000 // state events of the key
	idsAtOnce   = 100
	keysOfOne   = 4 // that have a state event in one contract: the parties, and who decides
)

// List returns the contracts that the caller is a party of: those of every relay's
// API and those that the state events name. status is one of the seven, or "" for
// all; the APIs are asked for those alone.
func (cs *Contracts) List(ctx context.Context, status string) (Listing, client.Status, error) {
	ctx, cancel := cs.c.Operation(ctx)
	defer cancel()
	if status != "" && !validStatus(status) {
		return Listing{}, client.Status{}, client.ErrInvalid
	}
	if s, err := known(ctx, cs); err != nil {
		return Listing{}, s, err
	}
	g := &gathering{c: cs.c, events: map[string]*nostr.Event{}}
	var listed []Contract
	var moreListed, moreStates bool
	var asking sync.WaitGroup
	if !cs.c.HTTP().ByToken() { // on the websocket a token proves nothing
		asking.Go(func() { moreStates = g.statesOf(ctx, cs.PubKey()) })
	}
	asking.Go(func() {
		found, more, statuses := fromAPIs(ctx, cs, status)
		listed, moreListed = found, more
		g.add(statuses, nil)
	})
	asking.Wait()
	s := g.status()
	if client.Answered(s.Relays) == 0 {
		return Listing{}, s, client.NoRelay(s.Relays)
	}
	// One relay may know a state of what is only entries to another.
	talks := keep(listed, func(c Contract) bool { return c.Stateless })
	listed = keep(listed, func(c Contract) bool { return !c.Stateless })
	states := fromStates(g.events)
	if status != "" {
		// One relay may have a later state than that which another was asked for.
		last := map[key]Contract{}
		for _, c := range states {
			last[keyOf(c)] = c
		}
		listed = keep(listed, func(c Contract) bool {
			state := last[keyOf(c)]
			return state.Status == status || state.UpdatedAt <= c.UpdatedAt
		})
	}
	all := merged(listed, slices.Concat(states, talks))
	if status != "" {
		all = keep(all, func(c Contract) bool { return c.Status == status })
	}
	return Listing{all, moreListed || moreStates}, s, nil
}

// statesOf gathers the state events of a key's contracts, and reports whether there
// are more.
func (g *gathering) statesOf(ctx context.Context, me string) (more bool) {
	ask := func(f nostr.Filter) []*nostr.Event {
		f.Kinds = []int{kindState}
		a, _ := g.c.AskThose(ctx, g.c.Targets(), f)
		g.add(a.Relays, a.Events)
		return a.Events
	}
	var own, others []*nostr.Event
	var asking sync.WaitGroup
	asking.Go(func() { own = ask(nostr.Filter{Authors: []string{me}, Limit: mostOwn}) })
	asking.Go(func() { others = ask(nostr.Filter{Tags: nostr.TagMap{"p": {me}}, Limit: mostOffered}) })
	asking.Wait()
	if len(others) < mostOffered {
		return len(own) >= mostOwn
	}
	var ids []string
	for _, ev := range own {
		ids = append(ids, ev.Tags.GetD())
	}
	for some := range slices.Chunk(ids, idsAtOnce) {
		ask(nostr.Filter{Tags: nostr.TagMap{"p": {me}, "d": some}, Limit: keysOfOne * len(some)})
	}
	return true
}

// key tells contracts apart: by id, and the keys between which they are.
type key struct {
	id   string
	pair [2]string
}

func keyOf(c Contract) key { return key{c.ID, pairOf(c.Poster.PubKey, c.Worker.PubKey)} }

// merged adds contracts that are known from events to those of the API.
func merged(listed, more []Contract) []Contract {
	var all []Contract
	seen := map[key]bool{}
	offered := map[string]bool{} // contracts of an API that had no worker when they were made
	for i, c := range slices.Concat(listed, more) {
		k := keyOf(c)
		alone := c.Worker.PubKey == ""
		if seen[k] || i >= len(listed) && alone && offered[c.ID+c.Poster.PubKey] {
			continue
		}
		seen[k] = true
		offered[c.ID+c.Poster.PubKey] = true
		all = append(all, c)
	}
	slices.SortStableFunc(all, func(a, b Contract) int {
		return cmp.Or(cmp.Compare(b.UpdatedAt, a.UpdatedAt), strings.Compare(a.ID, b.ID))
	})
	return all
}

// fromStates returns the contracts of state events, by contract and pair. An
// offer to nobody in particular is one as long as nobody is seen to have taken
// it.
func fromStates(events map[string]*nostr.Event) []Contract {
	groups, byID := map[key][]*nostr.Event{}, map[string]map[string]*nostr.Event{}
	for id, ev := range events {
		d := ev.Tags.GetD()
		if byID[d] == nil {
			byID[d] = map[string]*nostr.Event{}
		}
		byID[d][id] = ev
	}
	for _, ev := range events {
		d := ev.Tags.GetD()
		k := key{d, pairAmong(ev, byID[d])}
		groups[k] = append(groups[k], ev)
	}
	var pairs, alone []Contract
	for k, group := range groups {
		self := key{k.id, pairOf(k.pair[0], k.pair[0])}
		other := key{k.id, pairOf(k.pair[1], k.pair[1])}
		if k != self {
			group = slices.Concat(group, groups[self], groups[other])
		}
		state, moves := Replay(group, nil)
		if state == nil {
			continue
		}
		c := Contract{ID: k.id, Status: string(state.Status), Poster: Party{PubKey: state.Poster}, Worker: Party{PubKey: state.Worker}, UpdatedAt: state.CreatedAt}
		c.describe(moves)
		c.Offered, c.Agreed = termsOf(group, state.Poster, state.Worker)
		c.settled(moves)
		c.concluded(moves)
		if k == self {
			alone = append(alone, c)
		} else {
			pairs = append(pairs, c)
		}
	}
	return merged(pairs, alone)
}

// fromAPIs returns the contracts that the APIs of all relays list, and whether one
// has more.
func fromAPIs(ctx context.Context, cs *Contracts, wanted string) (contracts []Contract, more bool, relays []client.RelayStatus) {
	type answer struct {
		contracts []Contract
		more      bool
		status    client.RelayStatus
	}
	start := time.Now()
	all := client.Each(ctx, cs.c.Targets(),
		func(ctx context.Context, t client.Target) answer {
			contracts, complete, err := apiList(ctx, cs, t, wanted)
			more := len(contracts) == mostOffered && !complete
			complete = complete || more
			if isNoAPI(err) {
				complete, err = true, nil
			}
			return answer{contracts, more, client.RelayStatus{URL: t.URL, Err: err, Events: len(contracts), Complete: complete && err == nil, Took: time.Since(start)}}
		},
		func(t client.Target, err error) answer {
			return answer{status: client.RelayStatus{URL: t.URL, Err: err, Took: time.Since(start)}}
		})
	for _, a := range all {
		contracts = append(contracts, a.contracts...)
		more = more || a.more
		relays = append(relays, a.status)
	}
	return contracts, more, relays
}

// apiList asks an API for the contracts that changed last, in one status if it is
// not "".
func apiList(ctx context.Context, cs *Contracts, t client.Target, status string) (contracts []Contract, complete bool, err error) {
	query := url.Values{}
	if status != "" {
		query.Set("status", status)
	}
	wires, complete, err := listAll[wireContract](ctx, cs.c, t, contractsPath, query, "contracts", mostOffered, client.ErrNoAPI)
	if errors.Is(err, client.ErrNotFound) {
		return nil, false, client.ErrNoAPI
	}
	for _, w := range wires {
		c, err := w.contract(t.URL)
		if err != nil {
			return contracts, false, err
		}
		contracts = append(contracts, c)
	}
	return contracts, complete, err
}

// Summary counts what the caller may see of a contract.
type Summary struct {
	ContractID     string         `json:"contract_id"`
	TotalEntries   int            `json:"total_entries"`
	ByType         map[string]int `json:"by_type"`
	ByAuthor       map[string]int `json:"by_author"`
	ByVisibility   map[string]int `json:"by_visibility"`
	NostrPublished int            `json:"nostr_published"`
	DateRange      *DateRange     `json:"date_range"`
	// TotalTransitions is how many moves were seen, and Notes are the newest
	// that say why, oldest first: as many as the API tells.
	TotalTransitions int        `json:"total_transitions"`
	Notes            []MoveNote `json:"notes"`
}

// MoveNote is why a contract was moved.
type MoveNote struct {
	Status    string `json:"status"`
	Role      string `json:"role"` // of who moved it
	Note      string `json:"note"`
	CreatedAt string `json:"created_at"`
}

// DateRange is the first and the last created_at, in RFC 3339.
type DateRange struct {
	Earliest string `json:"earliest"`
	Latest   string `json:"latest"`
}

// Summary returns the summary of the thread, entries of every relay included.
func (t Thread) Summary() Summary {
	s := Summary{ContractID: t.Contract.ID, TotalEntries: len(t.Entries), ByType: map[string]int{}, ByAuthor: map[string]int{}, ByVisibility: map[string]int{}}
	s.TotalTransitions, s.Notes = len(t.Moves), t.notes()
	for i, e := range t.Entries {
		s.ByType[e.Type]++
		s.ByAuthor[cmp.Or(e.Author.AgentID, e.Author.PubKey)]++
		s.ByVisibility[e.Visibility]++
		if e.EventID != "" {
			s.NostrPublished++
		}
		if i == 0 {
			s.DateRange = &DateRange{Earliest: rfc3339(e.CreatedAt)}
		}
		s.DateRange.Latest = rfc3339(e.CreatedAt)
	}
	return s
}

// Bounds of the notes in a summary.
const (
	summaryNotes = 10
	summaryBytes = 64 << 10
)

// notes returns the newest moves with a note, oldest first.
func (t Thread) notes() []MoveNote {
	out, size := []MoveNote{}, 0
	for _, m := range slices.Backward(t.Moves) {
		if size += len(m.Note); len(out) == summaryNotes || size > summaryBytes && len(out) > 0 {
			break
		}
		if m.Note != "" {
			out = append(out, MoveNote{m.To, t.Contract.Role(m.By), m.Note, rfc3339(m.CreatedAt)})
		}
	}
	slices.Reverse(out)
	return out
}

// EntryFilter says which entries are wanted; empty fields are any.
type EntryFilter struct {
	Type, Visibility string
	Author           string // agent id, pubkey in hex, "poster" or "worker"
	Query            string // every word of it is in the text or an attachment, whatever the case
}

// Select returns the entries of a thread that fit a filter, oldest first.
func (t Thread) Select(f EntryFilter) []Entry {
	words := strings.Fields(strings.ToLower(f.Query))
	out := []Entry{}
	for _, e := range t.Entries {
		switch {
		case f.Type != "" && e.Type != f.Type:
		case f.Visibility == VisibilityPrivate && e.Visibility == VisibilityShared:
		case f.Visibility != "" && f.Visibility != VisibilityPrivate && e.Visibility != f.Visibility:
		case f.Author != "" && f.Author != e.Author.AgentID && f.Author != e.Author.PubKey && f.Author != t.Contract.Role(e.Author.PubKey):
		case !hasAll(strings.ToLower(e.Content+" "+strings.Join(e.Attachments, " ")), words):
		default:
			out = append(out, e)
		}
	}
	return out
}

// SelectMoves returns the moves of a thread whose notes have every word of a
// query.
func (t Thread) SelectMoves(query string) []Move {
	words := strings.Fields(strings.ToLower(query))
	var out []Move
	for _, m := range t.Moves {
		if m.Note != "" && hasAll(strings.ToLower(m.Note), words) {
			out = append(out, m)
		}
	}
	return out
}

func hasAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}
