package wiring

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/notify"
	"engramd/internal/relay/policy"
)

// BrokerGrace bounds how long the end of the daemon waits for the events
// broker.
const BrokerGrace = time.Second

// BrokerOptions say where the events broker is.
func BrokerOptions(cfg *config.Config) notify.Options {
	return notify.Options{URL: cfg.Events.NATS, Credentials: cfg.Events.Credentials, Prefix: cfg.Events.Prefix}
}

// brokerCompiles finds mistakes in the configuration. An unreachable broker is
// not one.
func brokerCompiles(cfg *config.Config) error {
	o := BrokerOptions(cfg)
	if o.URL == "" {
		return nil
	}
	if err := o.Check(); err != nil {
		return Usage(fmt.Errorf("%s: %w", brokerOption(err), err))
	}
	return nil
}

// brokerOption returns the option that an error is about.
func brokerOption(err error) string {
	switch {
	case errors.Is(err, notify.ErrURL):
		return "events.nats"
	case errors.Is(err, notify.ErrPrefix):
		return "events.prefix"
	}
	return "events.credentials"
}

// Serves checks what Compiles does, and what only serve needs.
func Serves(cfg *config.Config) error {
	if err := Compiles(cfg); err != nil {
		return err
	}
	addr, err := net.ResolveTCPAddr("tcp", cfg.Listen)
	if err != nil {
		return Usage(fmt.Errorf("listen: %w", err))
	}
	if addr.Port == 0 {
		return nil // known once it listens
	}
	at := addr.AddrPort()
	return NotToItself(cfg, netip.AddrPortFrom(at.Addr().Unmap(), at.Port()))
}

// NotToItself finds the relay itself among those that it publishes to: by its
// names, and by the port of this machine that it listens on.
func NotToItself(cfg *config.Config, listening netip.AddrPort) error {
	if addr := listening.Addr(); !addr.IsValid() || addr.IsUnspecified() {
		listening = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), listening.Port())
	}
	own := append([]string{"ws://" + listening.String()}, cfg.PublicURL...)
	names, err := relay.NewNames(own, listening)
	if err != nil {
		return Usage(err)
	}
	for _, url := range cfg.Contracts.PublishTo {
		if names.Has(url) {
			return Usage(fmt.Errorf("contracts.publish_to: %s is this relay itself; name further ones only", url))
		}
	}
	for _, r := range cfg.Replica {
		if names.Has(r.URL) {
			return Usage(fmt.Errorf("replica: %s is this relay itself", r.URL))
		}
	}
	return nil
}

// Compiles checks what only the packages know that take the values.
func Compiles(cfg *config.Config) error {
	if _, err := Table(cfg); err != nil {
		return err
	}
	if _, err := policy.New(PolicyOptions(cfg, nil, nil)); err != nil {
		return Usage(err)
	}
	if _, err := Retention(cfg); err != nil {
		return err
	}
	if _, err := SnapshotSettings(cfg); err != nil {
		return err
	}
	if err := replicasCompile(cfg); err != nil {
		return err
	}
	return brokerCompiles(cfg)
}
