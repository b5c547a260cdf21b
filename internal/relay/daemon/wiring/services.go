package wiring

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/relay/clock"
	"engramd/internal/relay/config"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// SnapshotSettings returns the part of the configuration that a reload may
// change. Anything wrong is a mistake in the configuration.
func SnapshotSettings(cfg *config.Config) (o snapshots.Settings, err error) {
	c := cfg.Snapshot
	o = snapshots.Settings{
		RestoreAllow: cfg.RestoreAllow, Trusted: c.TrustedKeys, GCInterval: config.SnapshotGC, Every: c.Every, Agents: c.Agents,
		Policy: snapshot.Policy{Keep: c.Keep, KeepAutomatic: c.KeepAutomatic, MaxAge: Days(c.MaxAgeDays)},
	}
	if o.Recipients, err = bundle.ParseRecipients(c.Recipients); err != nil {
		return o, Usage(fmt.Errorf("snapshot.%w", err)) // it begins with recipients[N]
	}
	if o.Identities, err = IdentitiesFrom(c.Identity); err != nil {
		return o, Usage(fmt.Errorf("snapshot.identity: %w", err))
	}
	return o, nil
}

func Days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

// IdentitiesFrom reads a file of age identities; none for "".
func IdentitiesFrom(path string) (bundle.Identities, error) {
	if path == "" {
		return bundle.Identities{}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return bundle.Identities{}, err
	}
	defer f.Close()
	ids, err := bundle.ParseIdentities(f)
	if err != nil {
		return ids, fmt.Errorf("%s: %w", path, err)
	}
	return ids, nil
}

// SnapshotOptions returns what every process makes its service with.
func SnapshotOptions(cfg *config.Config, s snapshots.Settings, version string) snapshots.Options {
	return snapshots.Options{
		Bundles:  snapshot.New(cmp.Or(cfg.Snapshot.Root, cfg.Data)),
		Settings: s, Software: "engramd " + version,
		Confirmed: func() bool { return clock.Confirms(filepath.Join(cfg.Data, clock.File), time.Now(), clock.System()) },
	}
}

// RelayKeyOptions say where the relay's identity key is.
func RelayKeyOptions(cfg *config.Config, env []string) keys.Options {
	return keys.Options{Setting: cfg.RelayKey, Dir: cfg.Data, Env: Lookup(env)}
}

// VaultOptions say where the master key is, and what the database knows of it.
func VaultOptions(ctx context.Context, cfg *config.Config, env []string, s *sqlite.Store) (vault.Options, error) {
	o := vault.Options{Setting: cfg.Contracts.MasterKey, Dir: cfg.Data, Env: Lookup(env)}
	var err error
	if o.Check, err = s.VaultCheck(ctx); err != nil {
		return o, err
	}
	o.Known, err = s.MasterKey(ctx)
	if cfg.Cluster.Enabled && o.Check == nil {
		// The other nodes run with it: what they seal must open here, though nothing is
		// sealed yet, and none is made in its place.
		o.Check = o.Known
	}
	return o, err
}
