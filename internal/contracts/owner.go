package contracts

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/share"
	"engramd/internal/store"
	"engramd/nips/niptemp"
)

type posterKey struct{}

// WithPoster returns a context whose calls mean, of several contracts under one
// id, that of a poster: an agent id or a pubkey. But for the owner's, which the
// id means without it, only a party finds one.
func WithPoster(ctx context.Context, poster string) context.Context {
	if poster == "" {
		return ctx
	}
	return context.WithValue(ctx, posterKey{}, poster)
}

// pair looks up what a contract id means to a caller, nil for nothing. Ids that
// mean nothing to who has no part in them are counted as guesses; who has made
// too many learns of no other contract than his own.
func (s *Service) pair(ctx context.Context, c Caller, id string) (*store.ContractPair, error) {
	poster, _ := ctx.Value(posterKey{}).(string)
	if poster != "" {
		key, err := s.pubkeyOf(ctx, poster)
		if err != nil || key == "" {
			return nil, err
		}
		poster = key
	}
	who := share.From(ctx)
	left := c.Operator || s.guesses.Left(who)
	p, err := s.store.ContractPair(ctx, id, c.PubKey, poster)
	if err == nil && p == nil && poster == "" { // one of which only entries are known
		p, err = s.store.ContractTalk(ctx, id, c.PubKey)
	}
	if err != nil || c.Operator {
		return p, err
	}
	part := p != nil && c.PubKey != "" && (c.PubKey == p.Poster || c.PubKey == p.Worker || c.PubKey == p.Arbitrator)
	if !part && !left || p == nil && !s.guesses.Take(who, 1) {
		return nil, Refuse(RateLimited, "%s", store.GuessedText)
	}
	return p, nil
}

// salted adds the proof that the author made the contract's id to what the
// server signs for him.
func (s *Service) salted(ctx context.Context, ev *nostr.Event) error {
	salt, err := s.store.ContractSalt(ctx, ev.Tags.GetD(), ev.PubKey)
	if err == nil && salt != nil && ev.Tags.Find(niptemp.SaltTag(nil)[0]) == nil {
		ev.Tags = append(ev.Tags, niptemp.SaltTag(salt))
	}
	return err
}
