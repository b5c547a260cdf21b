package main

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/config"
	"engramd/internal/policy"
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
		return usageError{errors.New("--check stands alone: it names the file itself")}
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
	cfg, err := config.Load(sources)
	if err != nil {
		return usageError{err}
	}
	if err := compiles(cfg); err != nil {
		return err
	}
	if c.check != "" {
		_, err := fmt.Fprintf(c.Stdout, "%s: ok\n", c.check)
		return err
	}
	return cfg.WriteTOML(c.Stdout)
}

// compiles checks what only the packages know that take the values.
func compiles(cfg *config.Config) error {
	if _, err := newTable(cfg); err != nil {
		return err
	}
	if _, err := policy.New(policyOptions(cfg, nil, nil)); err != nil {
		return usageError{err}
	}
	if _, err := snapshotSettings(cfg); err != nil {
		return err
	}
	return brokerCompiles(cfg)
}

// Close has nothing to give back.
func (c *configCommand) Close() error { return nil }
