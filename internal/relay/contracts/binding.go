package contracts

import (
	"context"
	"strings"

	"engramd/internal/relay/fairness"
)

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
