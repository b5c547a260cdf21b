package client

import (
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

var errUnbuilt = errors.New("not built yet")

// Client asks relays in the name of one identity. Methods may be called from
// several goroutines. Close it at the end.
type Client struct {
	id Identity
	o  Options
}

// New makes a client. It connects when something is asked.
func New(id Identity, o Options) *Client { return &Client{id: id, o: o.withDefaults()} }

// Close ends all connections.
func (c *Client) Close() {}

// Identity is who asks.
func (c *Client) Identity() Identity { return c.id }

// Relays are the URLs that are asked now.
func (c *Client) Relays() []string { return c.o.Relays }

// Ask asks every relay in parallel.
func (c *Client) Ask(ctx context.Context, filter nostr.Filter) (Answers, error) {
	return Answers{}, errUnbuilt
}

// Publish sends a signed event to every relay, once.
func (c *Client) Publish(ctx context.Context, ev *nostr.Event) ([]PublishStatus, error) {
	return nil, errUnbuilt
}

// Discover replaces the relays by the agent's NIP-65 list, if it has one.
func (c *Client) Discover(ctx context.Context, agent string) error { return errUnbuilt }

// Memory is the memory of one pair.
type Memory struct{ c *Client }

// AsAgent is the memory of the client's identity for an owner.
func (c *Client) AsAgent(owner string) (*Memory, error) { return nil, errUnbuilt }

// AsOwner is the memory that an agent keeps for the client's identity. It cannot be written.
func (c *Client) AsOwner(agent string) (*Memory, error) { return nil, errUnbuilt }

// Agent is the author's public key.
func (m *Memory) Agent() string { return "" }

// Owner is the owner's public key.
func (m *Memory) Owner() string { return "" }

// Get returns the head of a slug.
func (m *Memory) Get(ctx context.Context, slug nipae.Slug) (Entry, Status, error) {
	return Entry{}, Status{}, errUnbuilt
}

// List returns the heads without tombstones and core, by slug.
func (m *Memory) List(ctx context.Context) ([]Entry, Status, error) {
	return nil, Status{}, errUnbuilt
}

// Listing is everything that a pair remembers.
type Listing struct {
	Core       *Entry  // nil if there is none
	Memories   []Entry // by slug
	Tombstones []Entry // by slug
	Unreadable int     // addresses at which nothing can be read
}

// ListAll returns core, memories, tombstones and the number of unreadable addresses.
func (m *Memory) ListAll(ctx context.Context) (Listing, Status, error) {
	return Listing{}, Status{}, errUnbuilt
}

// SetOptions say what a write may do.
type SetOptions struct {
	// Base is the Hash of the text that the new one was made from; "" for any.
	Base string
	// AllowEmpty lets the text be empty.
	AllowEmpty bool
	// OverUnreadable writes also where there is something that cannot be read.
	OverUnreadable bool
}

// Set writes a text.
func (m *Memory) Set(ctx context.Context, slug nipae.Slug, text string, o SetOptions) (Entry, Status, error) {
	return Entry{}, Status{}, errUnbuilt
}

// Remove writes a tombstone.
func (m *Memory) Remove(ctx context.Context, slug nipae.Slug) (Status, error) {
	return Status{}, errUnbuilt
}

// Version is one version of a record that some relay has.
type Version struct {
	Entry
	Head   bool     // it is the current one
	Relays []string // URLs of those that have it
	Err    error    // why it cannot be read; then of the Entry only ID and CreatedAt are set
}

// Log returns every version that the relays have, newest first.
func (m *Memory) Log(ctx context.Context, slug nipae.Slug) ([]Version, Status, error) {
	return nil, Status{}, errUnbuilt
}

// When names a version: by the id of its event (a prefix of 8 digits or more will
// do), or as the one that was current at a time.
type When struct {
	ID   string
	Time int64 // Unix seconds, if ID is empty
}

// ParseWhen reads a When as it is given on a command line.
func ParseWhen(s string) (When, error) { return When{}, errUnbuilt }

// At returns the version that a When names.
func (m *Memory) At(ctx context.Context, slug nipae.Slug, when When) (Entry, Status, error) {
	return Entry{}, Status{}, errUnbuilt
}

// Restore writes an old version as a new one.
func (m *Memory) Restore(ctx context.Context, slug nipae.Slug, when When) (Entry, Status, error) {
	return Entry{}, Status{}, errUnbuilt
}

// Graph returns how the records refer to each other.
func (m *Memory) Graph(ctx context.Context) (nipae.Graph, Status, error) {
	return nipae.Graph{}, Status{}, errUnbuilt
}

// SyncReport is what Sync did.
type SyncReport struct {
	Heads  int // records, tombstones and core included
	Relays []SyncRelay
	Status Status
}

// SyncRelay is what Sync did at one relay.
type SyncRelay struct {
	URL     string
	Had     int   // heads it had before
	Sent    int   // heads it took
	Refused int   // heads it refused
	Err     error // why it was left out, or the first refusal
}

// Sync sends the head of every address to the relays that lack it.
func (m *Memory) Sync(ctx context.Context) (SyncReport, error) { return SyncReport{}, errUnbuilt }

// Approvals is the identity's list of approved agents, as an owner.
type Approvals struct{ c *Client }

// Approvals is the list of agents that the client's identity, as owner, vouches for.
func (c *Client) Approvals() *Approvals { return &Approvals{c: c} }

// List returns the public keys of the approved agents.
func (a *Approvals) List(ctx context.Context) ([]string, Status, error) {
	return nil, Status{}, errUnbuilt
}

// Allow adds an agent; adding one that is there publishes nothing.
func (a *Approvals) Allow(ctx context.Context, agent string) (Status, error) {
	return Status{}, errUnbuilt
}

// Revoke takes an agent out; ErrNotFound if it is not in the list.
func (a *Approvals) Revoke(ctx context.Context, agent string) (Status, error) {
	return Status{}, errUnbuilt
}
