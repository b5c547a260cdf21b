package nipae

import (
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"
)

// HeadFilter returns what to ask every configured relay for one slug (NIP-AE,
// "Head selection"): the answers, united, are the candidates of SelectHead.
func HeadFilter(k ConversationKey, agent, owner string, s Slug) nostr.Filter {
	f := ListFilter(agent, owner)
	f.Tags["d"] = []string{AddressIn(k, agent, owner, s)}
	return f
}

// ListFilter returns what to ask every configured relay for a pair's whole
// memory (NIP-AE, "Listing"): the answers, united, are the candidates of
// SelectHeads. Relays cap their answers: page with Until until one is empty.
func ListFilter(agent, owner string) nostr.Filter {
	return nostr.Filter{
		Kinds:   []int{Kind},
		Authors: []string{agent},
		Tags:    nostr.TagMap{"p": []string{owner}},
	}
}

// References returns the slugs that a text refers to as [[slug]], each once,
// in the order of their first appearance (NIP-AE, "References"). The match is
// literal: there is no escape and no markup. What stands between the brackets
// must be a valid slug, core or mem/…; anything else is text.
func References(text string) []Slug {
	var found []Slug
	seen := make(map[Slug]bool)
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '[' || text[i+1] != '[' {
			continue
		}
		// No slug holds a bracket, so no byte is looked at twice.
		end := i + 2
		for end < len(text) && isSlugByte(text[end]) {
			end++
		}
		if end+1 >= len(text) || text[end] != ']' || text[end+1] != ']' {
			continue
		}
		slug, err := ParseSlug(text[i+2 : end])
		if err == nil && !seen[slug] {
			seen[slug] = true
			found = append(found, slug)
		}
	}
	return found
}

// ErrSignature means that an event's id is not that of its content, or that its
// signature does not hold (NIP-01).
var ErrSignature = errors.New("the event's id or signature is wrong")

// verify checks id and signature. Lengths and digits come first: go-nostr,
// built with libsecp256k1, decodes pubkey and signature into arrays of fixed
// size and panics on longer ones.
func verify(ev *nostr.Event) error {
	if !nostr.IsValid32ByteHex(ev.ID) || !nostr.IsValid32ByteHex(ev.PubKey) || len(ev.Sig) != 128 ||
		!nostr.IsValid32ByteHex(ev.Sig[:64]) || !nostr.IsValid32ByteHex(ev.Sig[64:]) {
		return fmt.Errorf("%w: id, pubkey and sig are 64, 64 and 128 lower-case hex digits", ErrSignature)
	}
	if !ev.CheckID() {
		return fmt.Errorf("%w: the id is another event's", ErrSignature)
	}
	// The library's error repeats the key, and depends on the build.
	if ok, err := ev.CheckSignature(); !ok || err != nil {
		return fmt.Errorf("%w: it is not signed by its author", ErrSignature)
	}
	return nil
}

// Engram is a valid event with what it says. Event is the one that was opened,
// not a copy: treat it as read-only.
type Engram struct {
	Event *nostr.Event
	Body  Body
}

// Why an event is not a valid engram of a pair, beside ErrSignature and
// ErrBody. Of these, ErrUnreadable and ErrBody are about events that the agent
// did sign for this owner.
var (
	// ErrNotEngram: kind, author, d, p or the shape of the content is not what
	// an engram of this pair has.
	ErrNotEngram = errors.New("not an engram of this agent and owner")
	// ErrUnreadable: the content does not decrypt under the pair's key.
	ErrUnreadable = errors.New("the engram does not decrypt")
)

// Open returns what an event says, if it is a valid engram of the pair
// (NIP-AE, "Head selection", rules 1 to 5), checked in this order: kind,
// exactly one d and one p tag, author, p naming the owner, content shaped like
// a payload (ErrNotEngram, and ErrEnvelope or ErrPayload with it); id and
// signature (ErrSignature); decryption with its MAC (ErrUnreadable); the body,
// and that its slug has the event's d tag as address (ErrBody).
//
// agent and owner are public keys in lower-case hex, k is theirs. Tags other
// than d and p have no effect; nor has the time: see Expiration.
func Open(k ConversationKey, agent, owner string, ev *nostr.Event) (Engram, error) {
	d, err := addressOf(agent, owner, ev)
	if err != nil {
		return Engram{}, err
	}
	if err := CheckPayload(ev.Content); err != nil {
		return Engram{}, fmt.Errorf("%w: %w", ErrNotEngram, err)
	}
	if err := verify(ev); err != nil {
		return Engram{}, err
	}
	plain, err := nip44.Decrypt(ev.Content, k)
	if err != nil {
		return Engram{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	body, err := ParseBody([]byte(plain))
	if err != nil {
		return Engram{}, err
	}
	if AddressIn(k, agent, owner, body.slug) != d {
		return Engram{}, fmt.Errorf("%w: its slug has another address", ErrBody)
	}
	return Engram{Event: ev, Body: body}, nil
}

// addressOf returns the d tag of an event of the pair, judged by kind, author
// and tags alone; the content may be anything. The error is ErrNotEngram.
func addressOf(agent, owner string, ev *nostr.Event) (d string, err error) {
	if ev == nil {
		return "", fmt.Errorf("%w: there is no event", ErrNotEngram)
	}
	if err := checkAddress(ev); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotEngram, err)
	}
	if ev.PubKey != agent {
		return "", fmt.Errorf("%w: another key is its author", ErrNotEngram)
	}
	if ev.Tags.Find("p").Value() != owner {
		return "", fmt.Errorf("%w: its p tag names another owner", ErrNotEngram)
	}
	return ev.Tags.Find("d").Value(), nil
}

// Slug returns the slug that the engram is at.
func (e Engram) Slug() Slug { return e.Body.slug }

// CreatedAt returns the event's time in Unix seconds.
func (e Engram) CreatedAt() int64 { return int64(e.Event.CreatedAt) }
