package command

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon"
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

// versionCommand is `engramd version`.
type versionCommand struct{ *Main }

// ParseFlags takes nothing.
func (c *versionCommand) ParseFlags(args []string) error {
	if len(args) > 0 {
		return wiring.Usage(fmt.Errorf("unexpected argument %q", args[0]))
	}
	return nil
}

// Run prints one line: version, compiler, platform and build tags, which decide
// whether search is there and how fast signatures are checked.
func (c *versionCommand) Run(context.Context) error {
	tags := "none"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-tags" && s.Value != "" {
				tags = s.Value
			}
		}
	}
	_, err := fmt.Fprintf(c.Stdout, "engramd %s (%s, %s/%s, tags: %s)\n", c.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, tags)
	return err
}

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
