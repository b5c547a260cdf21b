package contracts

import (
	"context"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

type posterKey struct{}

// WithPoster returns a context in which calls mean, of several contracts under
// one id, the one of a poster, given by agent id or pubkey. Only a party finds
// another contract than the owner's, which the id means without a poster.
func WithPoster(ctx context.Context, poster string) context.Context {
	if poster == "" {
		return ctx
	}
	return context.WithValue(ctx, posterKey{}, poster)
}

// pair looks up what a contract id means to a caller, nil for nothing. A caller
// who has made too many guesses learns of no contracts but their own.
func (rg *register) pair(ctx context.Context, c Caller, id string) (*store.ContractPair, error) {
	poster, _ := ctx.Value(posterKey{}).(string)
	if poster != "" {
		key, err := rg.agents.pubkeyOf(ctx, poster)
		if err != nil || key == "" {
			return nil, err
		}
		poster = key
	}
	left := c.Operator || rg.guesses.Left(fairness.From(ctx))
	p, err := rg.store.ContractPair(ctx, id, c.PubKey, poster)
	if err == nil && p == nil && poster == "" { // one of which only entries are known
		p, err = rg.store.ContractTalk(ctx, id, c.PubKey)
	}
	if err != nil || c.Operator {
		return p, err
	}
	if !left {
		part, err := rg.hasPart(ctx, c.PubKey, p)
		if err != nil {
			return nil, err
		}
		if !part {
			return nil, Refuse(RateLimited, "%s", store.GuessedText)
		}
	}
	return p, nil
}

// hasPart reports whether a key is a party of a contract, its arbitrator, or
// another key on which its parties agreed.
func (rg *register) hasPart(ctx context.Context, key string, p *store.ContractPair) (bool, error) {
	if p == nil || key == "" {
		return false, nil
	}
	if key == p.Poster || key == p.Worker || key == p.Arbitrator {
		return true, nil
	}
	_, agreed, err := rg.store.TermsOf(ctx, p)
	return err == nil && slices.Contains(agreed.Keys(), key), err
}

// missed counts a guess and returns its answer, which is the same for a
// contract that does not exist and for one that is not shown. Otherwise the
// guesses that are left would tell them apart.
func (rg *register) missed(ctx context.Context, c Caller) error {
	if !c.Operator && !rg.guesses.Take(fairness.From(ctx), 1) {
		return Refuse(RateLimited, "%s", store.GuessedText)
	}
	return errNotFound("contract")
}

// salted adds to an event that the server signs the proof that its author made
// the contract's id.
func (pb *publisher) salted(ctx context.Context, ev *nostr.Event) error {
	salt, err := pb.store.ContractSalt(ctx, ev.Tags.GetD(), ev.PubKey)
	if err == nil && salt != nil && ev.Tags.Find(niptemp.SaltTag(nil)[0]) == nil {
		ev.Tags = append(ev.Tags, niptemp.SaltTag(salt))
	}
	return err
}
