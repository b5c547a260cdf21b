package proposals

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// scan is what relays have of proposals.
type scan struct {
	items     []Item // newest first
	replaced  []string
	malformed int
	more      bool
}

// scan reads what the owner and the listed keys propose. They are asked for apart:
// others' proposals do not crowd out the owner's.
func (b *Box) scan(ctx context.Context) (s scan, status client.Status, err error) {
	keys := b.proposers()
	if len(keys) == 0 {
		return s, status, nil
	}
	owners := 1
	if keys[0] != b.o.Memory.Owner() {
		owners = 0
	}
	for _, some := range [][]string{keys[:owners], keys[owners:]} {
		if len(some) == 0 {
			continue
		}
		a, err := b.o.Client.AskSoon(ctx, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: some, Tags: nostr.TagMap{"p": {b.o.Memory.Agent()}}, Limit: b.most + 1})
		join(&status, a)
		if err != nil {
			return s, status, err
		}
		events := a.Events
		if len(events) > b.most {
			events, s.more = events[:b.most], true
		}
		for _, key := range some {
			if err := b.read(&s, key, events); err != nil {
				return s, status, err
			}
		}
	}
	slices.SortFunc(s.items, newestFirst)
	return s, status, b.answers(ctx, &s, &status)
}

func newestFirst(a, b Item) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.EventID, b.EventID))
}

// read adds what one key proposes.
func (b *Box) read(s *scan, proposer string, events []*nostr.Event) error {
	agent := b.o.Memory.Agent()
	pair, err := memory.AsOwner(b.o.Client, proposer)
	if err != nil {
		return err
	}
	found, malformed := proposalsIn(pair.Conversation(), proposer, agent, events)
	s.malformed += malformed
	heads := map[string]bool{}
	for _, p := range found {
		heads[p.EventID] = true
		s.items = append(s.items, Item{Proposal: p, FromOwner: proposer == b.o.Memory.Owner(), Name: b.listed[proposer]})
	}
	for _, ev := range events {
		if ev.PubKey == proposer && !heads[ev.ID] {
			s.replaced = append(s.replaced, ev.ID)
		}
	}
	return nil
}

// proposalsIn returns the proposals among events of one key to another, and counts
// what is none: malformed, unreadable, or a memory. Answers and what was withdrawn
// are not counted.
func proposalsIn(key nipae.ConversationKey, proposer, agent string, events []*nostr.Event) (found []Proposal, malformed int) {
	mine := slices.DeleteFunc(slices.Clone(events), func(ev *nostr.Event) bool { return ev.PubKey != proposer })
	if len(mine) == 0 {
		return nil, 0
	}
	l := nipae.SelectHeads(key, proposer, agent, mine)
	malformed = len(l.Unreadable) + len(l.Outside)
	for _, e := range l.Heads() {
		if strings.HasPrefix(string(e.Slug()), nipae.AnswerPrefix) {
			continue
		}
		p, err := proposalOf(e, proposer, agent)
		if err != nil {
			malformed++
			continue
		}
		found = append(found, p)
	}
	return found, malformed
}

// proposalOf reads an engram. The error is ErrForm.
func proposalOf(e nipae.Engram, proposer, agent string) (Proposal, error) {
	id, ok := strings.CutPrefix(string(e.Slug()), nipae.ProposalPrefix)
	text, has := e.Body.Text()
	if !ok || !has || !nipae.IsProposalID(id) {
		return Proposal{}, ErrForm
	}
	p, err := Parse(text)
	p.ID, p.EventID, p.Proposer, p.Agent, p.CreatedAt = id, e.Event.ID, proposer, agent, e.CreatedAt()
	if origin, ok := e.Body.Member(OriginMember); ok && p.Act == Write {
		p.Origin = origin
	}
	if err == nil {
		err = p.whole()
	}
	return p, err
}

// whole reports whether a Write has one of both, a text or an origin.
func (p Proposal) whole() error {
	if p.Act == Write && (p.Text == "") != (p.Origin != nil) {
		return errWhole
	}
	if p.Act != Write && p.Origin != nil {
		return errWhole
	}
	return nil
}

var errWhole = errors.Join(ErrForm, errors.New("a write has a text, or an origin in its place"))

// answers adds what the agent has said before.
func (b *Box) answers(ctx context.Context, s *scan, status *client.Status) error {
	at := map[string]*Item{} // by d
	pairs := map[string]nipae.ConversationKey{}
	var addresses []string
	for i := range s.items {
		item := &s.items[i]
		if _, ok := pairs[item.Proposer]; !ok {
			m, err := memory.AsAgent(b.o.Client, item.Proposer)
			if err != nil {
				return err
			}
			pairs[item.Proposer] = m.Conversation()
		}
		d := pairs[item.Proposer].Address(nipae.Slug(nipae.AnswerPrefix + item.ID))
		at[d], addresses = item, append(addresses, d)
	}
	events, err := answersAt(ctx, b.o.Client, nostr.Filter{Authors: []string{b.o.Memory.Agent()}}, addresses, status)
	if err != nil {
		return err
	}
	for d, item := range at {
		item.Answer = answerIn(pairs[item.Proposer], b.o.Memory.Agent(), item.Proposal, events[d])
	}
	return nil
}

// answersAt asks for what an agent has at addresses. of names the agent, and whoever
// may read that.
func answersAt(ctx context.Context, c *client.Client, of nostr.Filter, addresses []string, status *client.Status) (map[string][]*nostr.Event, error) {
	events := map[string][]*nostr.Event{}
	for some := range slices.Chunk(addresses, answersAtOnce) {
		f := of
		f.Kinds, f.Tags = []int{nipae.Kind}, maps.Clone(of.Tags)
		if f.Tags == nil {
			f.Tags = nostr.TagMap{}
		}
		f.Tags["d"] = some
		a, err := c.AskSoon(ctx, f)
		join(status, a)
		if err != nil {
			return nil, err
		}
		for _, ev := range a.Events {
			events[ev.Tags.GetD()] = append(events[ev.Tags.GetD()], ev)
		}
	}
	return events, nil
}

// answerIn returns the answer to a proposal, nil for none: one to another head at
// its address is not for this one.
func answerIn(key nipae.ConversationKey, agent string, p Proposal, events []*nostr.Event) *Answer {
	r, err := nipae.SelectHead(key, agent, p.Proposer, nipae.Slug(nipae.AnswerPrefix+p.ID), events)
	if err != nil || r.Head == nil {
		return nil
	}
	text, _ := r.Head.Body.Text()
	a, err := ParseAnswer(text)
	if err != nil || a.Proposal != p.EventID {
		return nil
	}
	a.At = r.Head.CreatedAt()
	return &a
}

// join adds what became of another question: a relay that failed at one of them
// failed.
func join(status *client.Status, a client.Answers) {
	for _, r := range a.Relays {
		i := slices.IndexFunc(status.Relays, func(o client.RelayStatus) bool { return o.URL == r.URL })
		switch {
		case i < 0:
			status.Relays = append(status.Relays, r)
		case status.Relays[i].Err == nil && (r.Err != nil || !r.Complete):
			status.Relays[i] = r
		}
		status.Doubtful += r.Rejected
	}
	status.Partial = status.Partial || a.Partial()
}
