package command

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
)

// configCommand is `engramd config [--check FILE | --defaults]`.
type configCommand struct {
	*Main
	options  *options
	check    string
	defaults bool
}

// ParseFlags reads the command line; the configuration is Run's business.
func (c *configCommand) ParseFlags(args []string) error {
	c.options = newOptions("config")
	c.options.fs.StringVar(&c.check, "check", "", "check this `FILE` and say whether serve would start with it")
	c.options.fs.BoolVar(&c.defaults, "defaults", false, "print every option with its default, commented out")
	if _, err := c.options.parse(args, 0); err != nil {
		return err
	}
	if c.check != "" && (c.defaults || c.options.flags.File != "") {
		return wiring.Usage(errors.New("--check stands alone: it names the file itself"))
	}
	return nil
}

// Run prints or checks.
func (c *configCommand) Run(context.Context) error {
	if c.defaults {
		return config.WriteExample(c.Stdout)
	}
	sources := c.options.sources(c.Env)
	if c.check != "" {
		sources.File = c.check
	}
	sources.Serve = true
	cfg, err := loaded(sources)
	if err != nil {
		return err
	}
	if err := wiring.Serves(cfg); err != nil {
		return err
	}
	if c.check != "" {
		_, err := fmt.Fprintf(c.Stdout, "%s: ok\n", c.check)
		return err
	}
	return cfg.WriteTOML(c.Stdout)
}
