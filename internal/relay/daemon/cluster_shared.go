package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
)

// shared is the configuration with the options that all nodes share as they are
// in force here; nothing without other nodes. It is read and set on the
// goroutines of signals and of the store.
type shared struct {
	// turn is held by who compares a configuration with these options and puts it
	// into force: a reload must not bring back what the log has just changed. Nobody
	// waits for the store with it.
	turn sync.Mutex

	mu   sync.Mutex
	cfg  *config.Config
	text string
}

func (s *shared) set(cfg *config.Config, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cfg, s.text = cfg, text
}

func (s *shared) now() (cfg *config.Config, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg, s.text
}

// inForce is the configuration by which lists and rules are made.
func (c *process) inForce() *config.Config {
	if cfg, _ := c.shared.now(); cfg != nil {
		return cfg
	}
	return c.cfg
}

// sharedOver returns the configuration with the options that all nodes share as
// the cluster says; an empty text says nothing.
func sharedOver(cfg *config.Config, text string) (*config.Config, error) {
	if text == "" {
		return cfg, nil
	}
	return config.WithShared(cfg, text)
}

// asShared refuses a configuration that is not as the cluster has it.
func (c *process) asShared(cfg *config.Config) error {
	c.shared.turn.Lock()
	defer c.shared.turn.Unlock()
	return c.withShared(cfg, func() error { return nil })
}

// putInForce puts what decides about events into force, if it is as the cluster
// has it.
func (c *process) putInForce(ctx context.Context, cfg *config.Config, table *gate.Table, live store.Live) error {
	c.shared.turn.Lock()
	defer c.shared.turn.Unlock()
	return c.withShared(cfg, func() error {
		if err := c.store.SetOptions(ctx, live); err != nil { // of a node it waits for nothing
			return err
		}
		if err := c.store.CheckTable(table); err != nil {
			return err
		}
		if err := c.admin.Configure(wiring.AdminConfig(cfg), c.ruling(cfg)); err != nil {
			return err
		}
		c.relay.SetTable(table)
		return nil
	})
}

// withShared does something with a configuration that is as the cluster has it,
// and keeps that one afterwards. The turn must be held.
func (c *process) withShared(cfg *config.Config, do func() error) error {
	_, text := c.shared.now()
	if text == "" {
		return do()
	}
	if err := agrees(cfg, text); err != nil {
		return err
	}
	shared, err := config.WithShared(cfg, text)
	if err == nil {
		err = do()
	}
	if err == nil {
		c.shared.set(shared, text)
	}
	return err
}

// configured is the node's: other shared options are in force from the next
// command on.
func (c *process) configured(text string) {
	c.shared.turn.Lock()
	defer c.shared.turn.Unlock()
	now, before := c.shared.now()
	if text == before {
		return
	}
	next, err := config.WithShared(now, text)
	if err == nil {
		err = c.applyShared(next)
	}
	if err != nil { // the log does not say what this program refuses to propose
		err = fmt.Errorf("the cluster's configuration: %w", err)
		c.cluster.node.Load().Halt(err)
		c.fail(err)
		return
	}
	c.shared.set(next, text)
	if before != "" {
		c.log.Info("the options that nodes share have changed: a start or reload needs a configuration that has them (engramd cluster show)")
	}
}

// applyShared puts them into force. It is called while the store commits, and
// must not wait for it.
func (c *process) applyShared(cfg *config.Config) error {
	table, err := wiring.Table(cfg)
	if err != nil {
		return err
	}
	if c.admin == nil {
		return errors.New("they came before the lists")
	}
	if err := c.store.CheckTable(table); err != nil {
		return err
	}
	if err := c.admin.Configure(wiring.AdminConfig(cfg), c.ruling(cfg)); err != nil {
		return err
	}
	c.relay.SetTable(table)
	return nil
}
