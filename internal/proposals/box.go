package proposals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// Bounds of a Box.
const (
	// MaxListed is how many keys beside the owner's may propose.
	MaxListed = 100
	// MaxShown is how many proposals are looked at: of the owner, and of all others
	// together, the newest.
	MaxShown = 1000
	// MinID is the length of the shortest part of an event id that names a
	// proposal.
	MinID = 8
	// answersAtOnce is how many addresses one question names.
	answersAtOnce = 100
	// countPatience is how long counting may last longer than reading.
	countPatience = 2 * time.Second
)

var (
	// ErrListed is a list of proposers that cannot be.
	ErrListed = errors.New("not a list of keys that may propose")
	// ErrID is what names no proposal, or several.
	ErrID = errors.New("not the id of a proposal")
	// ErrForbidden is a proposal that its author may not make.
	ErrForbidden = errors.New("only the owner can propose that")
	// ErrAnswered is a proposal that was answered otherwise before.
	ErrAnswered = errors.New("the proposal was answered before")
	// ErrRefused is a text that is not remembered: a secret, or a placeholder.
	ErrRefused = errors.New("the proposed text is refused")
	// ErrUnopened is a proposal whose text is in its origin, for a Box that opens
	// none.
	ErrUnopened = errors.New("the text of the proposal is in another agent's event")
)

// Listed is a key beside the owner's whose proposals are read.
type Listed struct {
	Key string // 64 lower-case hex digits
	// Name is what the agent calls it, one segment of a slug; "" is the first 16
	// digits of the key.
	Name string
}

// Near is a memory that a proposed text is to be compared with.
type Near struct {
	Slug, Title string
	Shared      float64  // of what is said, 0 to 1
	Differs     []string // words that one of both has and the other has not
	// Contradicts says that one of both names the other as what it contradicts.
	Contradicts bool
}

// Opened is the text that an origin held.
type Opened struct {
	Text   string // with what says where it is from, beside what accepting stamps
	Source string
}

// Options are what a Box is made of.
type Options struct {
	Client *client.Client
	// Memory is the agent's with its owner, by Client.
	Memory *client.Memory
	Listed []Listed
	Clock  func() time.Time // nil means time.Now
	// Near returns the memories that say nearly what a text says which is about to
	// be written at a slug, or contradict it; nil: none are known.
	Near func(ctx context.Context, slug, text string) []Near
	// Open returns the text of a proposal that has an origin. nil opens none.
	Open func(ctx context.Context, p Proposal) (Opened, error)
}

// Box is what others propose to an agent.
type Box struct {
	o      Options
	listed map[string]string // name by key
	most   int               // MaxShown
}

// NewBox makes a Box. Errors are client.ErrReadOnly if the memory is not the
// client's own, and ErrListed.
func NewBox(o Options) (*Box, error) {
	if !o.Memory.Writable() {
		return nil, client.ErrReadOnly
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	b := &Box{o: o, listed: map[string]string{}, most: MaxShown}
	if len(o.Listed) > MaxListed {
		return nil, fmt.Errorf("%w: more than %d", ErrListed, MaxListed)
	}
	names := map[string]bool{}
	for _, l := range o.Listed {
		name := cmp.Or(l.Name, NameOf(l.Key))
		_, err := nipae.ParseSlug(FromPrefix + name)
		switch {
		case !isHexPart(l.Key, 64) || !nostr.IsValid32ByteHex(l.Key):
			return nil, fmt.Errorf("%w: a key is 64 lower-case hex digits", ErrListed)
		case l.Key == o.Memory.Owner() || l.Key == o.Memory.Agent():
			return nil, fmt.Errorf("%w: it names the owner or the agent itself", ErrListed)
		case err != nil || strings.Contains(name, "/"):
			return nil, fmt.Errorf("%w: a name is lower-case letters, digits, _ and -", ErrListed)
		case b.listed[l.Key] != "" || names[name]:
			return nil, fmt.Errorf("%w: a key or a name is there twice", ErrListed)
		}
		b.listed[l.Key], names[name] = name, true
	}
	return b, nil
}

// FromPrefix begins the slugs at which other agents' texts are kept.
const FromPrefix = "mem/from/"

// NameOf returns what a key is called for which there is no name.
func NameOf(key string) string { return key[:min(16, len(key))] }

// Item is a proposal as a Box has it.
type Item struct {
	Proposal
	FromOwner bool
	Name      string  // what the proposer is called; "" for the owner
	Answer    *Answer // nil: it is open
}

// Inbox is what was proposed and not answered.
type Inbox struct {
	Items []Item // newest first
	// Malformed counts those of the owner and of listed keys that are no
	// proposals, or cannot be read.
	Malformed int
	// Strangers counts records of keys that are not listed, as the relay that has
	// most counts them; they are never read. -1: no relay counts.
	Strangers int64
	More      bool // there are more than are looked at
}

// List returns what is proposed and open. Errors are client.ErrNoRelay, and
// client.ErrPartial if nothing was found and not every relay answered.
func (b *Box) List(ctx context.Context) (Inbox, client.Status, error) {
	counting, done := context.WithCancel(ctx)
	defer done()
	counted := make(chan int64, 1)
	go func() { counted <- b.strangers(counting) }()
	s, status, err := b.scan(ctx)
	late := time.AfterFunc(countPatience, done)
	defer late.Stop()
	in := Inbox{Malformed: s.malformed, More: s.more, Strangers: <-counted}
	if err != nil {
		return in, status, err
	}
	for _, item := range s.items {
		if item.Answer == nil {
			in.Items = append(in.Items, item)
		}
	}
	if len(in.Items) == 0 && status.Partial {
		err = client.ErrPartial
	}
	return in, status, err
}

// strangers counts what keys that are not listed address to the agent.
func (b *Box) strangers(ctx context.Context) int64 {
	all := nostr.Filter{Kinds: []int{nipae.Kind}, Tags: nostr.TagMap{"p": {b.o.Memory.Agent()}}}
	known := all
	known.Authors = append(b.proposers(), b.o.Memory.Agent())
	peers := b.o.Client.Peers()
	counts := make(chan int64, len(peers))
	for _, p := range peers {
		go func() {
			n, err := p.Count(ctx, all)
			if err == nil && n > 0 {
				var k int64
				k, err = p.Count(ctx, known)
				n = max(0, n-k)
			}
			if err != nil {
				n = -1
			}
			counts <- n
		}()
	}
	most := int64(-1)
	for range peers {
		select {
		case n := <-counts:
			most = max(most, n)
		case <-ctx.Done():
			return most
		}
	}
	return most
}

// proposers returns the keys whose proposals are read, the owner's first. Who owns
// himself cannot propose.
func (b *Box) proposers() []string {
	var keys []string
	for key := range b.listed {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	if owner := b.o.Memory.Owner(); owner != b.o.Memory.Agent() {
		keys = append([]string{owner}, keys...)
	}
	return keys
}

// Get returns the proposal whose event has that id, or begins with these 8 digits
// or more, with its answer if it has one. Errors are those of List, ErrID,
// client.ErrNotFound, and a *client.ConflictError if another one is in its place
// by now.
func (b *Box) Get(ctx context.Context, id string) (Item, client.Status, error) {
	if _, err := Find(nil, id); errors.Is(err, ErrID) {
		return Item{}, client.Status{}, err
	}
	s, status, err := b.scan(ctx)
	if err != nil {
		return Item{}, status, err
	}
	found, err := Find(s.items, id)
	switch {
	case !errors.Is(err, client.ErrNotFound):
		return found, status, err
	case slices.ContainsFunc(s.replaced, func(old string) bool { return strings.HasPrefix(old, id) }), b.wasThere(ctx, id):
		return Item{}, status, &client.ConflictError{Reason: "the proposal with that id was replaced or withdrawn"}
	case status.Partial:
		return Item{}, status, client.ErrPartial
	}
	return Item{}, status, client.ErrNotFound
}

// Find returns the one of some proposals whose event has that id, or begins with
// these digits. Errors are ErrID and client.ErrNotFound.
func Find(items []Item, id string) (Item, error) {
	if !isHexPart(id, MinID) {
		return Item{}, fmt.Errorf("%w: want the id of its event, or at least %d hex digits of it", ErrID, MinID)
	}
	at := -1
	for i, item := range items {
		if !strings.HasPrefix(item.EventID, id) {
			continue
		}
		if at >= 0 {
			return Item{}, fmt.Errorf("%w: several begin with it", ErrID)
		}
		at = i
	}
	if at < 0 {
		return Item{}, client.ErrNotFound
	}
	return items[at], nil
}

// wasThere reports whether relays show a superseded proposal with that id.
func (b *Box) wasThere(ctx context.Context, id string) bool {
	for _, key := range b.proposers() {
		a, err := b.o.Client.AskHistory(ctx, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{key}, Limit: MaxShown})
		if err != nil && ctx.Err() != nil {
			return false
		}
		for _, ev := range a.Events {
			if strings.HasPrefix(ev.ID, id) && ev.Tags.FindWithValue("p", b.o.Memory.Agent()) != nil {
				return true
			}
		}
	}
	return false
}
