package snapshots

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// source is an agent's memory in the database as a bundle holds it: without
// what is not shaped as its kind must be or dated too far ahead, and without
// versions newer than the head of their address, of which the newer one was
// deleted. A client that lists the same memory leaves the same out.
type source struct {
	view    store.View
	latest  int64               // the last time that an event may bear
	heads   map[[32]byte]headAt // by address
	leftOut [5]int              // by class; a class may be read more than once
}

type headAt struct {
	created int64
	id      [32]byte
}

// Events calls yield with each event of a class.
func (s *source) Events(ctx context.Context, class bundle.Class, yield func([]byte) error) error {
	if class == bundle.History && s.view.Count(store.Versions) > 0 {
		if err := s.know(ctx); err != nil {
			return err
		}
		defer func() { s.heads = nil }() // a bundle is written meanwhile, in the same memory
	}
	s.leftOut[class] = 0
	return s.view.Each(ctx, store.Part(class), func(json []byte) error {
		ev, err := bundle.ParseEvent(json)
		if err != nil {
			return err
		}
		if bundle.CheckShape(ev) != nil || int64(ev.CreatedAt) > s.latest || class == bundle.History && s.newer(ev) {
			s.leftOut[class]++
			return nil
		}
		return yield(json)
	})
}

// know notes the heads, against which history is compared, for as long as it is
// read.
func (s *source) know(ctx context.Context) error {
	if s.heads != nil {
		return nil
	}
	s.heads = make(map[[32]byte]headAt, s.view.Count(store.Heads)+s.view.Count(store.Contracts))
	for _, class := range []bundle.Class{bundle.Heads, bundle.Contracts} {
		err := s.Events(ctx, class, func(json []byte) error {
			ev, err := bundle.ParseEvent(json)
			if err != nil {
				return err
			}
			h := headAt{created: int64(ev.CreatedAt)}
			if _, err := hex.Decode(h.id[:], []byte(ev.ID)); err != nil {
				return err
			}
			s.heads[addressOf(ev)] = h
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// newer reports whether an event would supersede the head of its address.
func (s *source) newer(ev *nostr.Event) bool {
	h, ok := s.heads[addressOf(ev)]
	return ok && (int64(ev.CreatedAt) > h.created || int64(ev.CreatedAt) == h.created && ev.ID < hex.EncodeToString(h.id[:]))
}

func addressOf(ev *nostr.Event) [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%d:%s:%s", ev.Kind, ev.PubKey, ev.Tags.GetD()))
}

// left returns how many events were left out.
func (s *source) left() (n int) {
	for _, of := range s.leftOut {
		n += of
	}
	return n
}

// root returns what the bundle's heads_root will be.
func (s *source) root(ctx context.Context) (string, error) {
	var leaves []bundle.Leaf
	err := s.Events(ctx, bundle.Heads, func(json []byte) error {
		ev, err := bundle.ParseEvent(json)
		if err != nil {
			return err
		}
		var d, id [32]byte
		if _, err := hex.Decode(d[:], []byte(ev.Tags.GetD())); err != nil {
			return fmt.Errorf("the address of a kind %d event: %w", nipae.Kind, err)
		}
		if _, err := hex.Decode(id[:], []byte(ev.ID)); err != nil {
			return err
		}
		leaves = append(leaves, bundle.NewLeaf(d, id, int64(ev.CreatedAt)))
		return nil
	})
	if err != nil {
		return "", err
	}
	root := bundle.HeadsRoot(leaves)
	return hex.EncodeToString(root[:]), nil
}
