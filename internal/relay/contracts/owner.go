package contracts

import (
	"context"
	"slices"
	"strings"

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

// Binding names, and trying to, is limited for each key and each share: anybody
// can make keys, and a table that strangers fill has no room for others.
const (
	bindAtOnce  = 20
	bindAnHour  = 20
	bindBudgets = 10_000 // keys and shares that are remembered
)

// Whose budget a binding is charged to.
const (
	bindShare uint8 = iota
	bindKey
)

// mayBind refuses to bind a name to a key that may not write here, or when
// names were bound too often.
func (a *directory) mayBind(ctx context.Context, key string) error {
	if err := a.mayWrite(ctx, key); err != nil {
		return err
	}
	if err := notWriting(a.writers.Unlisted(ctx, key)); err != nil {
		return err
	}
	rate := fairness.Rate{PerSecond: bindAnHour / 3600.0, Burst: bindAtOnce}
	charges := []fairness.Charge{{What: bindKey, Name: key, N: 1, Rate: rate}}
	if who := fairness.From(ctx); !who.Exempt && who != (fairness.Who{}) {
		charges = append(charges, fairness.Charge{What: bindShare, Name: who.Share, N: 1, Rate: rate})
	}
	if a.binds.Take(a.clock(), charges...) >= 0 {
		return Refuse(RateLimited, "one key, and one address, may bind %d names at once and %d an hour", bindAtOnce, bindAnHour)
	}
	return nil
}

// SetPart divides these budgets by the number of nodes that bind names
// (fairness.Rates.SetPart).
func (a *directory) SetPart(nodes int) { a.binds.SetPart(nodes) }

// mayWrite refuses banned keys. The relay itself applies the lists of writers,
// because an attestation that comes with an event may let it in.
func (a *directory) mayWrite(ctx context.Context, key string) error {
	return notWriting(a.writers.Banned(ctx, key))
}

// notWriting returns the error for the reason why a key may not write here, nil
// for "".
func notWriting(why string) error {
	prefix, text, _ := strings.Cut(why, ": ")
	switch prefix {
	case "":
		return nil
	case "error":
		return Refuse(Unavailable, "%s", text)
	}
	return Refuse(Forbidden, "%s", text)
}
