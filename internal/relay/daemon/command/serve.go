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
	options *options
	cfg     *config.Config
}

// ParseFlags reads the command line and the configuration.
func (c *serveCommand) ParseFlags(args []string) (err error) {
	c.options = newOptions("serve")
	if _, err = c.options.parse(args, 0); err != nil {
		return err
	}
	if c.cfg, err = c.options.loadToServe(c.Env); err != nil {
		return err
	}
	return wiring.Serves(c.cfg) // before anything is created
}

// Run serves until a signal ends it.
func (c *serveCommand) Run(ctx context.Context) error {
	return daemon.Serve(ctx, daemon.Options{
		Version: c.Version, Env: c.Env, Stderr: c.Stderr, Signals: c.Signals, Config: c.cfg,
		Reload: func() (*config.Config, error) { return c.options.loadToServe(c.Env) },
	})
}
