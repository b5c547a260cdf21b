package transplant

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/protocol/wire"
	"engramd/nips/disclose"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const (
	// MaxOffered is the most that a text takes that is given as a proposal, in bytes:
	// encrypted twice it must fit into one engram.
	MaxOffered = 24 << 10
	// MaxOrigin bounds an Origin, in bytes of JSON.
	MaxOrigin = 128 << 10
)

// ErrOrigin is what is no text that another agent has signed.
var ErrOrigin = errors.New("not a memory that an agent has signed")

// Origin is the event of a memory, and what opens it.
type Origin struct {
	Event *nostr.Event
	Keys  disclose.Keys
}

// Unit is what an Origin proves: that the author wrote this text at this slug, for
// this owner and at this time. That D is the slug's address only the two can tell.
type Unit struct {
	Slug      nipae.Slug
	Text      string
	ID        string // of the event
	Author    string // public key of the agent that wrote it, hex
	Owner     string
	D         string
	CreatedAt int64 // Unix seconds
	Committed bool  // the author's signature covers the keys that opened it
}

type originJSON struct {
	Event jsontext.Value `json:"event"`
	Keys  string         `json:"message_keys"`
}

// JSON returns the origin as the member of a body, or a line of a package.
func (o Origin) JSON() jsontext.Value {
	b, err := json.Marshal(originJSON{wire.AppendEvent(nil, o.Event), o.Keys.Hex()})
	if err != nil {
		panic(err) // an event that was parsed, and hex digits
	}
	return b
}

// ParseOrigin reads an origin. Open says whether it proves anything. The error is
// ErrOrigin.
func ParseOrigin(b []byte) (Origin, error) {
	if len(b) > MaxOrigin {
		return Origin{}, fmt.Errorf("%w: larger than %d bytes", ErrOrigin, MaxOrigin)
	}
	var in originJSON
	if err := json.Unmarshal(b, &in, json.RejectUnknownMembers(true)); err != nil {
		return Origin{}, fmt.Errorf("%w: not an object with event and message_keys", ErrOrigin)
	}
	ev, err := wire.ParseEvent(in.Event)
	if err != nil {
		return Origin{}, fmt.Errorf("%w: its event: %w", ErrOrigin, err)
	}
	keys, err := disclose.ParseKeys(in.Keys)
	if err != nil {
		return Origin{}, fmt.Errorf("%w: %w", ErrOrigin, err)
	}
	return Origin{ev, keys}, nil
}

// Of makes the origin of an engram from its pair's conversation key, and checks it
// as a receiver does. Errors are ErrOrigin's.
func Of(conversation nipae.ConversationKey, ev *nostr.Event) (Origin, Unit, error) {
	keys, err := disclose.KeysOf(conversation, ev.Content)
	if err != nil {
		return Origin{}, Unit{}, fmt.Errorf("%w: %w", ErrOrigin, err)
	}
	o := Origin{ev, keys}
	u, err := o.Open()
	return o, u, err
}

// Open checks the signature, opens the payload and reads what was signed. The error
// is ErrOrigin.
func (o Origin) Open() (Unit, error) {
	none := func(err error) (Unit, error) { return Unit{}, fmt.Errorf("%w: %w", ErrOrigin, err) }
	if o.Event.Kind != nipae.Kind {
		return Unit{}, fmt.Errorf("%w: it is of kind %d", ErrOrigin, o.Event.Kind)
	}
	if wire.ID(o.Event) != o.Event.ID {
		return none(wire.ErrID)
	}
	if err := wire.Verify(o.Event); err != nil {
		return none(err)
	}
	text, committed, err := disclose.OpenEvent(o.Event, o.Keys)
	if err != nil {
		return none(err)
	}
	body, err := nipae.ParseBody([]byte(text))
	if err != nil {
		return none(err)
	}
	said, live := body.Text()
	owner := o.Event.Tags.Find("p")
	if !live || len(owner) < 2 || !nostr.IsValid32ByteHex(owner[1]) {
		return Unit{}, fmt.Errorf("%w: it is removed, or names no owner", ErrOrigin)
	}
	return Unit{Slug: body.Slug(), Text: said, ID: o.Event.ID, Author: o.Event.PubKey, Owner: owner[1], D: o.Event.Tags.GetD(), CreatedAt: int64(o.Event.CreatedAt), Committed: committed}, nil
}

// Source is what is stamped into a text that came from an agent.
func Source(author string) string {
	npub, err := nip19.EncodePublicKey(author)
	if err != nil {
		npub = author
	}
	return "transplant:" + npub
}

// relations are the fields that name memories of the giver's.
var relations = []string{"derived_from", "supersedes", "contradicts", "supports", "causes", "inspired_by", "related_to", "consolidated", "session", "after_reading", "superseded_by"}

// Planted returns the text as a receiver keeps it: it says from which event it is,
// and nothing of the giver's other memories. Accepting stamps source and trust.
func (u Unit) Planted() (string, error) {
	changes := []frontmatter.Change{}
	for _, key := range relations {
		changes = append(changes, frontmatter.Remove(key))
	}
	text, err := frontmatter.Parse(u.Text).Edit(append(changes, frontmatter.Set("derived_from", frontmatter.Strings(u.ID)))...)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrOrigin, err)
	}
	return text, nil
}

// Rest is the part of a slug that is kept below a receiver's name for the giver.
func Rest(slug nipae.Slug) string { return strings.TrimPrefix(string(slug), "mem/") }
