package client

import (
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// Memory is what one agent remembers for one owner: the pair of NIP-AE. Both
// read it, only the agent writes it.
type Memory struct {
	c     *Client
	agent string
	owner string
	key   func() nipae.ConversationKey // behind a closure, out of reach of fmt

	unchained bool // what is written is in no log
	reversed  bool // the author is the owner of the one who is named
}

// AsAgent returns the memory of the client's identity for an owner, whose
// public key is given in 64 lower-case hex digits. The error is ErrIdentity if
// the client has none, or nipae.ErrKey.
func (c *Client) AsAgent(owner string) (*Memory, error) {
	key, err := c.conversation(owner)
	if err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	return &Memory{c: c, agent: c.id.PubKey(), owner: owner, key: key, reversed: c.isReversed(owner, c.o.Agent)}, nil
}

// AsOwner returns the memory that an agent, given by its public key, keeps for
// the client's identity. Writes fail with ErrReadOnly, unless the two are one.
func (c *Client) AsOwner(agent string) (*Memory, error) {
	key, err := c.conversation(agent)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	return &Memory{c: c, agent: agent, owner: c.id.PubKey(), key: key, reversed: c.isReversed(agent, c.o.Owner)}, nil
}

func (c *Client) conversation(other string) (func() nipae.ConversationKey, error) {
	if c.id.reveal == nil {
		return nil, fmt.Errorf("%w: there is none to read with", ErrIdentity)
	}
	key, err := nipae.DeriveConversationKey(c.id.reveal(), other)
	return func() nipae.ConversationKey { return key }, err
}

// isReversed reports whether the pair with another key is a reversed one: known
// is the key that has the other place in it.
func (c *Client) isReversed(other, known string) bool {
	return other == known && other != c.id.PubKey()
}

// Reversed reports whether the pair is known to be what an owner writes to his
// agent (Options.Owner and Agent). That is no memory: proposals and answers to
// them are read and written, nothing else is listed, and the error of all other
// slugs is ErrReversed. Of two keys of which nothing is known, each may remember
// something for the other.
func (m *Memory) Reversed() bool { return m.reversed }

// Agent returns the public key of the memory's writer.
func (m *Memory) Agent() string { return m.agent }

// Owner returns the public key of the memory's reader.
func (m *Memory) Owner() string { return m.owner }

// Conversation returns the key that both parties share, which does not print
// itself: a local copy is sealed under keys that are derived from it.
func (m *Memory) Conversation() nipae.ConversationKey { return m.key() }

// Writable reports whether the client's key is the agent's, which alone writes.
func (m *Memory) Writable() bool { return m.writable() == nil }

// writable is ErrReadOnly for an owner.
func (m *Memory) writable() error {
	if m.c.id.PubKey() != m.agent {
		return ErrReadOnly
	}
	return nil
}

// at returns the filter for one slug.
func (m *Memory) at(slug nipae.Slug) nostr.Filter {
	return nipae.HeadFilter(m.key(), m.agent, m.owner, slug)
}

// all returns the filter for everything of the pair.
func (m *Memory) all() nostr.Filter { return nipae.ListFilter(m.agent, m.owner) }

// WithDoubts adds the doubts about the list of relays to what became of a
// question, but for relays that failed at the question itself: one that is down
// is down once.
func WithDoubts(relays, doubts []RelayStatus) []RelayStatus {
	relays = slices.Clone(relays)
	for _, d := range doubts {
		if !slices.ContainsFunc(relays, func(r RelayStatus) bool { return r.URL == d.URL && r.failed() }) {
			relays = append(relays, d)
		}
	}
	return relays
}

// status makes the Status of a reading: what is uncertain about the list of
// relays is part of it.
func (m *Memory) status(relays []RelayStatus, doubtful int) Status {
	relays = WithDoubts(relays, m.c.Doubts())
	return Status{Relays: relays, Partial: Partial(relays), Doubtful: doubtful + Rejected(relays)}
}
