// Package memory reads and writes what an agent remembers for an owner (NIP-AE),
// through the relays of a client.
package memory

import (
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// Memory is what one agent remembers for one owner: the pair of NIP-AE. Both
// read it, only the agent writes it.
type Memory struct {
	Reader
	unchained bool // what is written is in no log
}

// Reader reads the memory of a pair from the relays of a client.
type Reader struct{ reader }

// reader asks relays, and this machine, for what a Reader tells.
type reader struct {
	pair
	c    *client.Client
	lost bool // see Lost
}

// Lost returns a reader that gives an owner also the texts of which no relay shows
// anything any more, from what his machine has: the agent may have deleted them.
func (r *Reader) Lost() *Reader {
	out := *r
	out.lost = true
	return &out
}

type pair struct {
	me, agent, owner string                       // me is one of the two
	key              func() nipae.ConversationKey // behind a closure, out of reach of fmt
	reversed         bool                         // the author is the owner of the one who is named
}

// AsAgent returns the memory of the client's identity for an owner, whose
// public key is given in 64 lower-case hex digits. The error is ErrIdentity if
// the client has none, or nipae.ErrKey.
func AsAgent(c *client.Client, owner string) (*Memory, error) {
	return of(c, "owner", owner, pair{agent: c.Identity().PubKey(), owner: owner}, c.Options().Agent)
}

// AsOwner returns the memory that an agent, given by its public key, keeps for
// the client's identity. Writes fail with ErrReadOnly, unless the two are one.
func AsOwner(c *client.Client, agent string) (*Memory, error) {
	return of(c, "agent", agent, pair{agent: agent, owner: c.Identity().PubKey()}, c.Options().Owner)
}

// of returns the memory of the client's identity and another key, which is named
// in errors as what it is; known is the key that has its place in a reversed pair.
func of(c *client.Client, what, other string, p pair, known string) (*Memory, error) {
	key, err := conversation(c, other)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	p.me, p.key = c.Identity().PubKey(), key
	p.reversed = isReversed(p.me, other, known)
	return &Memory{Reader: Reader{reader{c: c, pair: p}}}, nil
}

func conversation(c *client.Client, other string) (func() nipae.ConversationKey, error) {
	if !c.Identity().HasKey() {
		return nil, fmt.Errorf("%w: there is none to read with", client.ErrIdentity)
	}
	key, err := client.Using(c.Identity(), func(secret string) (nipae.ConversationKey, error) {
		return nipae.DeriveConversationKey(secret, other)
	})
	return func() nipae.ConversationKey { return key }, err
}

// isReversed reports whether the pair with another key is a reversed one: known
// is the key that has the other place in it.
func isReversed(me, other, known string) bool {
	return other == known && other != me
}

// Reversed reports whether the pair is known to be what an owner writes to his
// agent (Options.Owner and Agent). That is no memory: proposals and answers to
// them are read and written, nothing else is listed, and the error of all other
// slugs is ErrReversed. Of two keys of which nothing is known, each may remember
// something for the other.
func (p *pair) Reversed() bool { return p.reversed }

// Agent returns the public key of the memory's writer.
func (p *pair) Agent() string { return p.agent }

// Owner returns the public key of the memory's reader.
func (p *pair) Owner() string { return p.owner }

// Conversation returns the key that both parties share, which does not print
// itself: a local copy is sealed under keys that are derived from it.
func (p *pair) Conversation() nipae.ConversationKey { return p.key() }

// Writable reports whether the client's key is the agent's, which alone writes.
func (p *pair) Writable() bool { return p.writable() == nil }

// writable is ErrReadOnly for an owner.
func (p *pair) writable() error {
	if p.me != p.agent {
		return client.ErrReadOnly
	}
	return nil
}

func (p *pair) at(slug nipae.Slug) nostr.Filter {
	return nipae.HeadFilter(p.key(), p.agent, p.owner, slug)
}

// all returns the filter for everything of the pair.
func (p *pair) all() nostr.Filter { return nipae.ListFilter(p.agent, p.owner) }

// status makes the Status of a reading: what is uncertain about the list of
// relays is part of it.
func (r *reader) status(relays []client.RelayStatus, doubtful int) client.Status {
	relays = client.WithDoubts(relays, r.c.Doubts())
	return client.Status{Relays: relays, Partial: client.Partial(relays), Doubtful: doubtful + client.Rejected(relays)}
}
