package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/policy"
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
		return usage(errors.New("--check stands alone: it names the file itself"))
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
	if err := serves(cfg); err != nil {
		return err
	}
	if c.check != "" {
		_, err := fmt.Fprintf(c.Stdout, "%s: ok\n", c.check)
		return err
	}
	return cfg.WriteTOML(c.Stdout)
}

// serves checks what compiles does, and what only serve needs.
func serves(cfg *config.Config) error {
	if err := compiles(cfg); err != nil {
		return err
	}
	addr, err := net.ResolveTCPAddr("tcp", cfg.Listen)
	if err != nil {
		return usage(fmt.Errorf("listen: %w", err))
	}
	if addr.Port == 0 {
		return nil // known once it listens
	}
	at := addr.AddrPort()
	return notToItself(cfg, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
}

// notToItself finds the relay itself among those that it publishes to: by its
// names, and by the port of this machine that it listens on.
func notToItself(cfg *config.Config, listening netip.AddrPort) error {
	if addr := listening.Addr(); !addr.IsValid() || addr.IsUnspecified() {
		listening = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), listening.Port())
	}
	own := append([]string{"ws://" + listening.String()}, cfg.PublicURL...)
	names, err := relay.NewNames(own, listening)
	if err != nil {
		return usage(err)
	}
	for _, url := range cfg.Contracts.PublishTo {
		if names.Has(url) {
			return usage(fmt.Errorf("contracts.publish_to: %s is this relay itself; name further ones only", url))
		}
	}
	for _, r := range cfg.Replica {
		if names.Has(r.URL) {
			return usage(fmt.Errorf("replica: %s is this relay itself", r.URL))
		}
	}
	return nil
}

// compiles checks what only the packages know that take the values.
func compiles(cfg *config.Config) error {
	if _, err := newTable(cfg); err != nil {
		return err
	}
	if _, err := policy.New(policyOptions(cfg, nil, nil)); err != nil {
		return usage(err)
	}
	if _, err := retentionRules(cfg); err != nil {
		return err
	}
	if _, err := snapshotSettings(cfg); err != nil {
		return err
	}
	if err := replicasCompile(cfg); err != nil {
		return err
	}
	return brokerCompiles(cfg)
}

// Close has nothing to give back.
func (c *configCommand) Close() error { return nil }
