package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon"
	"engramd/internal/relay/daemon/wiring"
)

// configCommand is `engramd config [--check FILE | --defaults]`.
type configCommand struct {
	base
	file     string // of --check
	defaults bool
}

func (c *configCommand) flags(fs *flag.FlagSet) int {
	fs.StringVar(&c.file, "check", "", "check this `FILE` and say whether serve would start with it")
	fs.BoolVar(&c.defaults, "defaults", false, "print every option with its default, commented out")
	return 0
}

func (c *configCommand) check() error {
	if c.file != "" && (c.defaults || c.options.flags.File != "") {
		return errors.New("--check stands alone: it names the file itself")
	}
	return nil
}

// configure leaves the configuration to Run.
func (*configCommand) configure() error { return nil }

// Run prints or checks.
func (c *configCommand) Run(context.Context) error {
	if c.defaults {
		return config.WriteExample(c.Stdout)
	}
	sources := c.sources()
	if c.file != "" {
		sources.File = c.file
	}
	sources.Serve = true
	cfg, err := loaded(sources)
	if err != nil {
		return err
	}
	if err := wiring.Serves(cfg); err != nil {
		return err
	}
	for _, r := range cfg.Removed() {
		fmt.Fprintf(c.Stderr, "engramd config: %v\n", r)
	}
	if c.file != "" {
		_, err := fmt.Fprintf(c.Stdout, "%s: ok\n", c.file)
		return err
	}
	return cfg.WriteTOML(c.Stdout)
}

// versionCommand is `engramd version`.
type versionCommand struct{ base }

func (*versionCommand) configure() error { return nil }

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
type serveCommand struct{ base }

func (c *serveCommand) read() (*config.Config, error) {
	sources := c.sources()
	sources.Serve = true
	return loaded(sources)
}

func (c *serveCommand) configure() (err error) {
	if c.cfg, err = c.read(); err != nil {
		return err
	}
	return wiring.Serves(c.cfg) // before anything is created
}

// Run serves until a signal ends it.
func (c *serveCommand) Run(ctx context.Context) error {
	return daemon.Serve(ctx, daemon.Options{
		Version: c.Version, Env: c.Env, Stderr: c.Stderr, Signals: c.Signals, Config: c.cfg, Reload: c.read,
	})
}
