package proposals

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/secrets"
	"engramd/nips/nipae"
)

// ErrSelf is a proposal to oneself: who signs a memory writes it.
var ErrSelf = errors.New("who owns himself writes, and does not propose")

// Author is the side of whoever proposes: the owner, or another agent.
type Author struct {
	Client *client.Client
	Clock  func() time.Time // nil means time.Now
	// AllowSecret sends also what looks like a key or a token.
	AllowSecret bool
}

// Propose sends a proposal to the agent that it names and returns it with its ids
// and time. Errors are ErrForm, ErrSelf, ErrRefused, client.ErrTooLarge, and those
// of client.Publish.
func (a *Author) Propose(ctx context.Context, p Proposal) (Proposal, client.Status, error) {
	p.Proposer = a.Client.Identity().PubKey()
	if p.Proposer == p.Agent {
		return p, client.Status{}, ErrSelf
	}
	text, err := p.Render()
	if err == nil {
		err = p.whole()
	}
	if err != nil {
		return p, client.Status{}, err
	}
	if !a.AllowSecret {
		if err := secrets.CheckChange("", p.Why+"\n"+p.Text); err != nil {
			return p, client.Status{}, fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	m, err := memory.AsAgent(a.Client, p.Agent)
	if err != nil {
		return p, client.Status{}, err
	}
	m = m.Unchained() // a proposal is no memory, and leaves nothing on this machine
	ev, err := a.sealed(ctx, m, &p, text)
	if err != nil {
		return p, client.Status{}, err
	}
	published, err := m.Publish(ctx, ev)
	return p, client.Status{Published: published, Partial: slices.ContainsFunc(published, func(s client.PublishStatus) bool { return !s.Accepted })}, err
}

// sealed makes the event of a proposal, and gives that its ids and time.
func (a *Author) sealed(ctx context.Context, m *memory.Memory, p *Proposal, text string) (*nostr.Event, error) {
	var id [16]byte
	_, _ = rand.Read(id[:])
	p.ID = hex.EncodeToString(id[:])
	body, err := nipae.NewMemory(nipae.Slug(nipae.ProposalPrefix+p.ID), text)
	if err == nil && p.Origin != nil {
		body, err = body.WithMember(OriginMember, p.Origin)
	}
	if err != nil {
		return nil, err
	}
	now := time.Now
	if a.Clock != nil {
		now = a.Clock
	}
	events, err := m.Compose(ctx, []memory.Draft{{Body: body, At: now().Unix()}})
	if err != nil {
		return nil, err
	}
	p.EventID, p.CreatedAt = events[0].ID, int64(events[0].CreatedAt)
	return events[0], nil
}

// Mine returns what the client's key has proposed to an agent, with the answers,
// the newest first and at most MaxShown. malformed counts records in that pair that
// are no proposals. Errors are client.ErrNoRelay, and client.ErrPartial if nothing
// was found and not every relay answered.
func (a *Author) Mine(ctx context.Context, agent string) (items []Item, malformed int, status client.Status, err error) {
	me := a.Client.Identity().PubKey()
	m, err := memory.AsAgent(a.Client, agent)
	if err != nil {
		return nil, 0, status, err
	}
	asked, err := a.Client.AskSoon(ctx, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{me}, Tags: nostr.TagMap{"p": {agent}}, Limit: MaxShown})
	join(&status, asked)
	if err != nil {
		return nil, 0, status, err
	}
	var found []Proposal
	if me != agent { // who owns himself has memory there, and no proposals
		found, malformed = proposalsIn(m.Conversation(), me, agent, asked.Events)
	}
	addresses := make([]string, len(found))
	for i, p := range found {
		addresses[i] = m.Conversation().Address(nipae.Slug(nipae.AnswerPrefix + p.ID))
	}
	events, err := answersAt(ctx, a.Client, nostr.Filter{Authors: []string{agent}, Tags: nostr.TagMap{"p": {me}}}, addresses, &status)
	if err != nil {
		return nil, malformed, status, err
	}
	for i, p := range found {
		items = append(items, Item{Proposal: p, Answer: answerIn(m.Conversation(), agent, p, events[addresses[i]])})
	}
	slices.SortFunc(items, newestFirst)
	if len(items) == 0 && status.Partial {
		err = client.ErrPartial
	}
	return items, malformed, status, err
}
