package main

import (
	"errors"
	"fmt"
	"sync"

	"engramd/internal/config"
)

// shared is the configuration with the options that all nodes share as they are
// in force here; nothing without other nodes. It is read and set on the
// goroutines of signals and of the store.
type shared struct {
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
func (c *serveCommand) inForce() *config.Config {
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
func (c *serveCommand) asShared(cfg *config.Config) error {
	_, text := c.shared.now()
	if text == "" {
		return nil
	}
	if err := agrees(cfg, text); err != nil {
		return err
	}
	shared, err := config.WithShared(cfg, text)
	if err == nil {
		c.shared.set(shared, text)
	}
	return err
}

// configured is the node's: other shared options are in force from the next
// command on.
func (c *serveCommand) configured(text string) {
	now, before := c.shared.now()
	if text == before {
		return
	}
	next, err := config.WithShared(now, text)
	if err == nil {
		err = c.applyShared(next)
	}
	if err != nil { // the log does not say what this program refuses to propose
		c.fail(fmt.Errorf("the cluster's configuration: %w", err))
		return
	}
	c.shared.set(next, text)
	if before != "" {
		c.log.Info("the options that nodes share have changed: a start or reload needs a configuration that has them (engramd cluster show)")
	}
}

// applyShared puts them into force. It is called while the store commits, and
// must not wait for it.
func (c *serveCommand) applyShared(cfg *config.Config) error {
	table, err := newTable(cfg)
	if err != nil {
		return err
	}
	if c.admin == nil {
		return errors.New("they came before the lists")
	}
	if err := c.store.SetTable(table); err != nil {
		return err
	}
	if err := c.admin.Configure(adminConfig(cfg), c.ruling(cfg)); err != nil {
		return err
	}
	c.relay.SetTable(table)
	return nil
}
