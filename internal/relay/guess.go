package relay

import (
	"context"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// errGuessed refuses to look for contracts by ids of which too many have shown
// nothing. The same words answer whether or not there is something.
var errGuessed = &nip01.Refusal{Prefix: nip01.PrefixRateLimited, Text: store.GuessedText}

// guessing counts, to the share that asks, the contract ids of a request that
// are its only key and show nothing. When its guesses are used up, only ids in
// which the reader has a part are answered, and no other is looked at.
func guessing(ctx context.Context, r *Relay, reader gate.Reader, granted []Granted) error {
	who := fairness.From(ctx)
	if !r.cfg.Guesses.Counts(who) {
		return nil
	}
	table := r.table.Load()
	var ids []string
	for _, g := range granted {
		if table.ByContractAlone(reader, g.Filter) {
			ids = append(ids, g.Filter.Tags["d"]...)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	left := r.cfg.Guesses.Left(who)
	unseen, err := r.store.ContractsUnseen(ctx, reader, ids, !left)
	switch {
	case err != nil:
		return err
	case unseen > 0 && (!left || !r.cfg.Guesses.Take(who, unseen)):
		return errGuessed
	}
	return nil
}
