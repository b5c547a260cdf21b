package snapshot

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/writerlog"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// Head is what counts at one address, without its content.
type Head struct {
	Kind      int    `json:"kind"`
	PubKey    string `json:"-"`
	D         string `json:"d,omitempty"` // empty for a relay list
	ID        string `json:"id"`
	CreatedAt int64  `json:"created_at"` // Unix seconds

	// With a key that reads the engram:
	Slug      nipae.Slug `json:"slug,omitempty"`
	Tombstone bool       `json:"tombstone,omitempty"`
	Expires   int64      `json:"-"` // Unix seconds; 0 for never
	body      [32]byte   // SHA-256 of the body
}

// Readable reports whether there was a key for the engram.
func (h Head) Readable() bool { return h.Slug != "" }

// live reports whether the head says that there is something.
func (h *Head) live() bool { return h != nil && !h.Tombstone }

// newer reports whether h supersedes o (NIP-01).
func (h Head) newer(o Head) bool {
	return h.CreatedAt > o.CreatedAt || h.CreatedAt == o.CreatedAt && h.ID < o.ID
}

// Address is what versions of one record have in common.
type Address struct {
	Kind   int
	PubKey string
	D      string
}

func (h Head) address() Address { return Address{h.Kind, h.PubKey, h.D} }

func compareAddress(a, b Address) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.PubKey, b.PubKey), strings.Compare(a.D, b.D))
}

// Heads are the heads of one agent's memory at one instant.
type Heads map[Address]Head

// ErrEvent means that a Source gave something that is no event.
var ErrEvent = errors.New("not an event")

// ReadHeads reads the heads from a Source: engrams, the relay list and contract
// memory. With keys (nil: none) each engram that they read gets its slug; one
// that does not open although there is a key stays without. About 500 bytes of
// memory are used for each head.
func ReadHeads(ctx context.Context, src bundle.Source, agent string, keys bundle.Keys) (Heads, error) {
	heads := Heads{}
	for _, class := range []bundle.Class{bundle.Heads, bundle.Relays, bundle.Contracts} {
		err := src.Events(ctx, class, func(b []byte) error {
			ev, err := parse(b)
			if err != nil {
				return err
			}
			// An event's strings are parts of its JSON, which must not stay with them.
			h := Head{Kind: ev.Kind, PubKey: strings.Clone(ev.PubKey), D: strings.Clone(ev.Tags.GetD()), ID: strings.Clone(ev.ID), CreatedAt: int64(ev.CreatedAt)}
			if e, ok := open(ev, agent, keys); ok {
				body := e.Body
				h.Expires, _ = nipae.Expiration(ev)
				h.Slug = nipae.Slug(strings.Clone(string(body.Slug())))
				if _, live := body.Text(); !live {
					h.Tombstone = true
				}
				text, err := body.WithoutMember(writerlog.Member).Bytes()
				if err != nil {
					return err
				}
				h.body = sha256.Sum256(text)
			}
			heads[h.address()] = h
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return heads, nil
}

func parse(b []byte) (*nostr.Event, error) {
	ev, err := bundle.ParseEvent(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	return ev, nil
}

// open reads an engram, if it is one and there is a key for it.
func open(ev *nostr.Event, agent string, keys bundle.Keys) (nipae.Engram, bool) {
	if ev.Kind != nipae.Kind || keys == nil {
		return nipae.Engram{}, false
	}
	owner := ev.Tags.Find("p").Value()
	k, ok := keys(agent, owner)
	if !ok {
		return nipae.Engram{}, false
	}
	engram, err := nipae.Open(k, agent, owner, ev)
	return engram, err == nil
}

// maxTexts is how many bytes of texts Texts holds.
const maxTexts = 64 << 20

// Texts returns the texts of the engrams with these ids, as far as the keys
// read them; a tombstone has none. The error is bundle.ErrLimit beyond 64 MiB.
func Texts(ctx context.Context, src bundle.Source, agent string, keys bundle.Keys, ids map[string]bool) (map[string]string, error) {
	texts, size := map[string]string{}, 0
	err := src.Events(ctx, bundle.Heads, func(b []byte) error {
		ev, err := parse(b)
		if err != nil || !ids[ev.ID] {
			return err
		}
		e, ok := open(ev, agent, keys)
		if !ok {
			return nil
		}
		if text, live := e.Body.Text(); live {
			texts[strings.Clone(ev.ID)] = text
			if size += len(text); size > maxTexts {
				return fmt.Errorf("texts of more than %d bytes: %w", maxTexts, bundle.ErrLimit)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return texts, nil
}
