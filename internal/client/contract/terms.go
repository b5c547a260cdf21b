package contract

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/disclose"
	"engramd/nips/niptemp"
)

// Relay in place of a decider's or an expirer's key is the identity key of the
// first relay that has the contract API.
const Relay = "relay"

// relayKey returns the identity key of a relay, as its information document
// (NIP-11) says it: "self".
func relayKey(ctx context.Context, c *client.Client, t client.Target) (string, error) {
	answer, err := c.HTTP().Call(ctx, t, client.Call{Method: http.MethodGet, Kind: "application/nostr+json"})
	if err != nil {
		return "", err
	}
	key := PubKeyOf(membersOf(string(answer.Text)).text("self"))
	if key == "" {
		return "", fmt.Errorf("%w: it names no key of its own", client.ErrNoAPI)
	}
	return key, nil
}

// terms returns those of an offer, with names resolved at home, whose key signs
// the order of arrival.
func terms(ctx context.Context, cs *Contracts, o Offer, home *client.Target) (niptemp.Terms, error) {
	t := niptemp.Terms{Deadline: o.Deadline}
	for _, named := range []struct {
		who  string
		into *string
	}{{o.Arbitrator, &t.Arbitrator}, {o.Decider, &t.Decider}, {o.Expirer, &t.Expirer}} {
		var err error
		switch {
		case named.who == "" || nostr.IsValid32ByteHex(named.who):
			*named.into = named.who
		case named.who == Relay:
			*named.into, err = relayKey(ctx, cs.c, *home)
		default:
			*named.into, err = resolve(ctx, cs, *home, named.who)
		}
		if err != nil {
			return niptemp.Terms{}, err
		}
	}
	if home != nil {
		var err error
		if t.Order, err = relayKey(ctx, cs.c, *home); err != nil && !isNoAPI(err) {
			return niptemp.Terms{}, err
		}
	}
	return t, nil
}

// needsAPI reports whether somebody in the offer is named by what an API alone
// knows.
func (o Offer) needsAPI() bool {
	return slices.ContainsFunc([]string{o.Worker, o.Arbitrator, o.Decider, o.Expirer}, func(who string) bool {
		return who != "" && !nostr.IsValid32ByteHex(who)
	})
}

// Signed returns a contract and its moves as its signed states have them. What is
// somebody's word beside them stays: names, and a decision without an event.
func Signed(c Contract, states []*nostr.Event, order map[string]niptemp.OrderItem) (Contract, []Move) {
	state, moves := Replay(states, order)
	if c.Stateless = state == nil; c.Stateless {
		return Contract{ID: c.ID, Home: c.Home, Stateless: true, Poster: c.Poster, Worker: c.Worker}, moves
	}
	was := c
	c.Poster.PubKey, c.Worker.PubKey, c.Status, c.UpdatedAt = state.Poster, state.Worker, string(state.Status), state.CreatedAt
	c.Offered, c.Agreed = termsOf(states, state.Poster, state.Worker)
	c.Decided, c.DecidedNote, c.DecidedEvent = "", "", ""
	c.replayed(moves)
	if slices.Contains([]string{"operator", "arbitrator", "deadline"}, was.Decided) && was.DecidedEvent == "" && c.Decided == "" {
		c.Status, c.UpdatedAt, c.Decided, c.DecidedNote = was.Status, was.UpdatedAt, was.Decided, was.DecidedNote
	}
	c.Poster.AgentID, c.Worker.AgentID = cmp.Or(was.Poster.AgentID, c.Poster.AgentID), cmp.Or(was.Worker.AgentID, c.Worker.AgentID)
	c.Arbitrator.PubKey = cmp.Or(c.Arbitrator.PubKey, was.Arbitrator.PubKey)
	return c, moves
}

// replayed sets what moves say of a contract beside its state.
func (c *Contract) replayed(moves []Move) {
	begins := func(m Move) bool { return m.Follows && m.From == "" && m.To == string(niptemp.Open) }
	c.Unproven = !slices.ContainsFunc(moves, begins)
	c.describe(moves)
	c.settled(moves)
}

// Agreed returns what the state events of a poster and a worker agree on.
func Agreed(moves []*nostr.Event, poster, worker string) niptemp.Terms {
	_, agreed := termsOf(moves, poster, worker)
	return agreed
}

// termsOf returns what the state events of a pair offer, each term by the open
// to the worker or else to whoever accepts, and what is agreed of that.
func termsOf(moves []*nostr.Event, poster, worker string) (offered, agreed niptemp.Terms) {
	var said, repeated []niptemp.Terms
	var toAll, toWorker niptemp.Terms
	// What was agreed once stays: the first acceptance says it.
	for _, ev := range slices.SortedFunc(slices.Values(moves), func(x, y *nostr.Event) int { return cmp.Compare(x.CreatedAt, y.CreatedAt) }) {
		s, err := niptemp.ReadState(ev)
		if err != nil || s.Worker != "" {
			continue
		}
		switch {
		case s.Status == niptemp.Open && ev.PubKey == poster && (s.To == poster || s.To == worker):
			said = append(said, s.Terms)
			if s.To == worker {
				toWorker = toWorker.Greater(s.Terms)
			} else {
				toAll = toAll.Greater(s.Terms)
			}
		case s.Status == niptemp.Accepted && s.Previous == niptemp.Open && ev.PubKey == worker && s.To == poster:
			repeated = append(repeated, s.Terms)
		}
	}
	for _, r := range repeated {
		for _, o := range said {
			both := o.Agreed(r).Without(poster, worker)
			agreed = agreed.Or(both)
		}
	}
	return toWorker.Or(toAll), agreed
}

// datedAmong returns the pairs of keys between which an open names a deadline, to
// each other or to whoever accepts. Then no party says that it is over; contracts
// from before deadlines were signed have none.
func datedAmong(events []*nostr.Event) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, ev := range events {
		if s, err := niptemp.ReadState(ev); err == nil && s.Status == niptemp.Open && s.Terms.Deadline != 0 {
			out[pairOf(ev.PubKey, s.To)] = true
		}
	}
	return out
}

// decisionPair returns the two keys that a state event decides about who signed
// it as none of them; ok is false for a move of a party.
func decisionPair(ev *nostr.Event, all iter.Seq[*nostr.Event]) (pair [2]string, ok bool) {
	d, shaped := niptemp.DecisionOf(ev)
	switch {
	case !shaped:
		return pair, false
	case d.Worker != "":
		return pairOf(d.Poster, d.Worker), true
	}
	for open := range all {
		s, err := niptemp.ReadState(open)
		if err == nil && s.Status == niptemp.Open && s.Contract == d.Contract && open.PubKey == d.Poster && s.Terms.Expirer == d.Author {
			return pairOf(d.Poster, s.To), true
		}
	}
	return pair, false
}

// pairOf returns the pair of keys that an event of the contract is about.
func (g *gathering) pairOf(ev *nostr.Event) [2]string { return pairAmong(ev, g.events) }

// pairAmong returns the pair of keys that an event of a contract is about; all
// are the events that are known.
func pairAmong(ev *nostr.Event, all map[string]*nostr.Event) [2]string {
	if ev.Kind == kindState {
		if pair, ok := decisionPair(ev, maps.Values(all)); ok {
			return pair
		}
	}
	return pairOf(ev.PubKey, ev.Tags.Find("p").Value())
}

// decide applies a decision to a state that was seen.
func decide(state *niptemp.State, ev *nostr.Event, offered, agreed niptemp.Terms) (next niptemp.State, decision bool, err error) {
	d, ok := niptemp.DecisionOf(ev)
	if !ok || d.Worker == "" && d.Author != offered.Expirer {
		return next, false, nil
	}
	if d.Worker == "" {
		agreed = offered
	}
	next, err = state.Decide(agreed, d)
	return next, true, err
}

// settled sets by whom the contract was decided, if its last move that follows
// is no party's, and what holds of its deadline.
func (c *Contract) settled(moves []Move) {
	c.Arbitrator.PubKey, c.Deadline = c.Agreed.Arbitrator, c.Agreed.Deadline
	if c.Status == string(niptemp.Open) || len(moves) == 1 {
		c.Deadline = c.Offered.Deadline
	}
	for i := len(moves) - 1; i >= 0; i-- {
		if m := moves[i]; m.Follows {
			switch role := c.Role(m.By); role {
			case "arbitrator":
				c.Decided = role
			case "decider":
				c.Decided = "operator"
			case "expirer":
				c.Decided = "deadline"
			default:
				return
			}
			c.DecidedNote, c.DecidedEvent = m.Note, m.Event.ID
			return
		}
	}
}

// concluded takes a decision for the last move in a list, for which no history
// is read: the acceptance is not seen, and the offer names who decided.
func (c *Contract) concluded(moves []Move) {
	for _, m := range moves {
		d, ok := niptemp.DecisionOf(m.Event)
		if ok && !m.Follows && !niptemp.Status(c.Status).Final() && c.Agreed == (niptemp.Terms{}) && slices.Contains(c.Offered.Keys(), d.Author) {
			c.Status, c.UpdatedAt = m.To, m.CreatedAt
			return
		}
	}
}

// mayDecide reports whether a key may be the arbitrator of a contract by what
// was seen: an arbitrator is shown history too, which has the open and the
// acceptance that name the key.
func (g *gathering) mayDecide(me string, c Contract) bool {
	if me == "" || me == c.Agreed.Arbitrator || me == c.Offered.Arbitrator {
		return me != ""
	}
	opened := false
	for _, ev := range g.events {
		s, err := niptemp.ReadState(ev)
		opened = opened || err == nil && s.Status == niptemp.Open
	}
	return !opened && !c.Stateless
}

// deciding signs the 30091 by which the arbitrator or the decider ends a
// dispute.
func deciding(cs *Contracts, t Thread, to, note string) (*nostr.Event, error) {
	c, at := t.Contract, cs.c.Now()
	if c.Status != string(niptemp.Disputed) {
		return nil, &client.ConflictError{Reason: "the contract is " + c.Status + ", and not in dispute"}
	}
	body := stateBody{ContractID: c.ID, Status: to, PreviousStatus: c.Status, PosterAgentID: c.agentID(c.Poster.PubKey), WorkerAgentID: c.agentID(c.Worker.PubKey),
		AmountSats: c.AmountSats, Description: c.Description, Note: note, TransitionAt: rfc3339(at)}
	return cs.state(body, c.Poster.PubKey, max(at, c.UpdatedAt-aheadToFollow), nostr.Tag{"p", c.Worker.PubKey})
}

// Disclose opens one sealed entry of a contract to somebody else: its event,
// and the message keys of its payload, which open no other. entry is an entry
// id or an event id; with is as in Thread. ErrNotFound says that there is no
// such entry, ErrInvalid that it is not sealed, ErrUnreadable that this key
// does not open it.
func (cs *Contracts) Disclose(ctx context.Context, id, with, entry string) (Disclosure, client.Status, error) {
	t, status, err := cs.Thread(ctx, id, with)
	if err != nil {
		return Disclosure{}, status, err
	}
	at := slices.IndexFunc(t.Entries, func(e Entry) bool { return e.EntryID == entry || e.EventID == entry && entry != "" })
	switch {
	case at < 0:
		return Disclosure{}, status, fmt.Errorf("entry %q: %w", client.Printable(entry), client.ErrNotFound)
	case !t.Entries[at].Sealed:
		return Disclosure{}, status, fmt.Errorf("%w: the entry is not sealed: its event alone shows what it says", client.ErrInvalid)
	case t.Entries[at].Event == nil:
		return Disclosure{}, status, fmt.Errorf("%w: no relay showed its signed event", client.ErrUnreadable)
	}
	ev := t.Entries[at].Event
	keys, err := messageKeys(cs.c, ev)
	if err != nil {
		return Disclosure{}, status, err
	}
	e, err := Disclosed(ev, keys)
	if err != nil {
		return Disclosure{}, status, fmt.Errorf("%w: %w", client.ErrUnreadable, err)
	}
	return Disclosure{ev, keys, e}, status, nil
}

// messageKeys returns those of the payload of an entry between us and another.
func messageKeys(c *client.Client, ev *nostr.Event) (disclose.Keys, error) {
	conversation, err := entryKey(c, ev)
	if err != nil {
		return disclose.Keys{}, err
	}
	keys, err := disclose.KeysOf(conversation, ev.Content)
	if err != nil {
		return disclose.Keys{}, fmt.Errorf("%w: %w", client.ErrUnreadable, err)
	}
	return keys, nil
}
