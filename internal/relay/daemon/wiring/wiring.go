// Package wiring turns the configuration into what each package of the relay
// takes. The running relay and the commands beside it both begin here.
package wiring

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/management"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/retention"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
)

// UsageError is a mistake on the command line or in the configuration.
type UsageError struct{ error }

// Usage marks an error as a mistake of the user's.
func Usage(err error) error { return UsageError{err} }

// Unwrap gives errors.Is the cause.
func (e UsageError) Unwrap() error { return e.error }

// Lookup finds a variable in an environment.
func Lookup(env []string) func(name string) (string, bool) {
	return func(name string) (value string, ok bool) {
		for _, kv := range env {
			if n, v, _ := strings.Cut(kv, "="); n == name {
				value, ok = v, true // the last one counts
			}
		}
		return value, ok
	}
}

// Remove removes what filters match, as the operator's own.
func Remove(ctx context.Context, s *sqlite.Store, filters *management.Filters) (store.Removal, error) {
	return management.Remove(ctx, s, gate.Operator(), filters)
}

// AdminConfig returns the part of the configuration that the API may add to.
func AdminConfig(cfg *config.Config) management.Config {
	return management.Config{
		Keys: cfg.Admin.Keys, Authors: cfg.Write.Authors, BanAuthors: cfg.Write.BanAuthors,
		Kinds: cfg.Write.Kinds, BanKinds: cfg.Write.BanKinds,
		Restricted: len(cfg.Write.Authors)+len(cfg.Write.Owners) > 0,
	}
}

// Private makes every file of this process readable by its user only, SQLite's
// temporary ones included.
func Private() { syscall.Umask(0o077) }

// CollectLess lets the heap grow to three times what lives before it is
// collected, unless GOGC is set. A relay's heap is small, and signatures need
// the processor: publishing is 4 % faster for some 20 MB (docs/benchmarks.md).
func CollectLess(env []string) { collectAt(env, 200) }

// CollectMore is for commands that hold an index of many events: half the heap
// for some processor time.
func CollectMore(env []string) { collectAt(env, 50) }

func collectAt(env []string, percent int) {
	if !IsSet(env, "GOGC") {
		debug.SetGCPercent(percent)
	}
}

// IsSet reports whether an environment has a variable.
func IsSet(env []string, name string) bool {
	return slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

// Table compiles the read gate; what is wrong is a mistake in the
// configuration.
func Table(cfg *config.Config) (*gate.Table, error) {
	t, err := gate.NewTable(gate.Options{
		Wildcard: cfg.Gate.Wildcard, IDs: cfg.Gate.IDs, Contracts: cfg.Gate.Contracts, Rules: cfg.Gate.Rules, Replicas: cfg.Gate.Replicas,
		AuthRequired: cfg.Read.AuthRequired,
	})
	if err != nil {
		return nil, Usage(err)
	}
	return t, nil
}

// PolicyOptions are those of the write policy.
func PolicyOptions(cfg *config.Config, names relay.Names, approved func(ctx context.Context, owners []string, agent string) (bool, error)) policy.Options {
	return policy.Options{
		Authors: cfg.Write.Authors, Owners: cfg.Write.Owners, Kinds: cfg.Write.Kinds,
		BannedAuthors: cfg.Write.BanAuthors, BannedKinds: cfg.Write.BanKinds,
		MaxTags: config.EventTags, Future: cfg.Limits.Future,
		Rates: policy.Rates{
			Key: fairness.Rate(cfg.Limits.EventsPerKey), Share: fairness.Rate(cfg.Limits.EventsPerAddress), Rows: fairness.Rate(config.IndexRows),
			Bytes: fairness.Rate{PerSecond: float64(cfg.Limits.BytesPerAddress) / 3600, Burst: cfg.Limits.BytesPerAddress},
		},
		OwnName: names.Has,
		Reader:  relay.ReaderFrom, Attested: relay.AttestationsFrom, Approved: approved,
	}
}

// StoreLive is what a reload may change of the store. Zero is off in the
// configuration and the default in the store, where negative is off.
func StoreLive(cfg *config.Config) store.Live {
	return store.Live{
		Versions: cmp.Or(cfg.History.Versions, -1), Days: cmp.Or(cfg.History.Days, -1), ContractDays: cfg.History.ContractDays,
		MaxBytes: max(cfg.Store.MaxBytes, 0), QueryTimeout: cfg.Limits.QueryTimeout, StrictIDs: !cfg.Contracts.AnyID,
		Quota: store.Quota{
			Events: cfg.Limits.AuthorEvents, DefaultEvents: !cfg.Said("limits.author_events"),
			Bytes: cfg.Limits.AuthorBytes, DefaultBytes: !cfg.Said("limits.author_bytes"),
		},
	}
}

// Retention reads retention.rules.
func Retention(cfg *config.Config) ([]retention.Rule, error) {
	rules, err := retention.Parse(cfg.Retention.Rules)
	if err != nil {
		return nil, Usage(fmt.Errorf("retention.rules: %w", err))
	}
	return rules, nil
}

// DaemonLive is StoreLive with what the daemon alone does.
func DaemonLive(cfg *config.Config) (store.Live, error) {
	live := StoreLive(cfg)
	var err error
	live.Retention, err = Retention(cfg)
	return live, err
}
