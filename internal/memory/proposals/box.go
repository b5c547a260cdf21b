package proposals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
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
	// ErrCorrects is a proposal that would replace what was taken from the same agent,
	// which is never done unasked.
	ErrCorrects = errors.New("the proposal is a later version of what was taken before")
	// ErrUnasked is what the agent is to answer itself, also where its profile has what
	// the owner proposes accepted.
	ErrUnasked = errors.New("the proposal is not accepted unasked")
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
	// D and CreatedAt are the address and the time of the event; D may be "".
	D         string
	CreatedAt int64
}

// Memory is the agent's memory with its owner; *memory.Memory implements it.
type Memory interface {
	Agent() string
	Owner() string
	Writable() bool
	Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error)
	At(ctx context.Context, slug nipae.Slug, when memory.When) (client.Entry, client.Status, error)
	Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error)
	RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error)
}

// Options are what a Box is made of.
type Options struct {
	Client *client.Client
	// Memory is the agent's with its owner, by Client.
	Memory Memory
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
	counts time.Duration     // countPatience
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
	b := &Box{o: o, listed: map[string]string{}, most: MaxShown, counts: countPatience}
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
