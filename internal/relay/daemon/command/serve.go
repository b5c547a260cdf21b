package command

import (
	"context"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon"
	"engramd/internal/relay/daemon/wiring"
)

// serveCommand is `engramd serve`.
type serveCommand struct {
	*Main
	sources config.Sources
	cfg     *config.Config
}

func (c *serveCommand) ParseFlags(args []string) (err error) {
	o := newOptions("serve")
	if _, err = o.parse(args, 0); err != nil {
		return err
	}
	c.sources = o.sources(c.Env)
	c.sources.Serve = true
	if c.cfg, err = loaded(c.sources); err != nil {
		return err
	}
	return wiring.Serves(c.cfg) // before anything is created
}

// Run serves until a signal ends it.
func (c *serveCommand) Run(ctx context.Context) error {
	return daemon.Serve(ctx, daemon.Options{
		Version: c.Version, Env: c.Env, Stderr: c.Stderr, Signals: c.Signals, Config: c.cfg,
		Reload: func() (*config.Config, error) { return loaded(c.sources) },
	})
}
