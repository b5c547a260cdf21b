package wiring

import (
	"context"

	"engramd/internal/relay/config"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/keys"
)

// RelayKeyOptions say where the relay's identity key is.
func RelayKeyOptions(cfg *config.Config, env []string) keys.Options {
	return keys.Options{Setting: cfg.RelayKey, Dir: cfg.Data, Env: Lookup(env)}
}

// VaultOptions say where the master key is, and what the database knows of it.
func VaultOptions(ctx context.Context, cfg *config.Config, env []string, s *Database) (vault.Options, error) {
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
