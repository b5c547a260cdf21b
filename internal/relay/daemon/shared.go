package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// agrees refuses a configuration that differs, in options which all nodes of a
// cluster share, from what the cluster's configuration says.
func agrees(cfg *config.Config, shared string) error {
	keys := config.SharedDiff(cfg, shared)
	if len(keys) == 0 {
		return nil
	}
	return wiring.Usage(fmt.Errorf("this differs from the cluster's configuration, which all nodes share: %s; set here what it says, as engramd cluster show prints it, or propose this for all nodes (engramd cluster configure)", strings.Join(keys, ", ")))
}

// asShared refuses a configuration that is not as the cluster has it.
func (r *rules) asShared(cfg *config.Config) error {
	r.shared.turn.Lock()
	defer r.shared.turn.Unlock()
	return r.withShared(cfg, func() error { return nil })
}

// put puts what decides about events into force, if it is as the cluster has it.
func (r *rules) put(ctx context.Context, cfg *config.Config, table *gate.Table, live store.Live) error {
	r.shared.turn.Lock()
	defer r.shared.turn.Unlock()
	return r.withShared(cfg, func() error {
		if err := r.store.SetOptions(ctx, live); err != nil { // of a node it waits for nothing
			return err
		}
		return r.decideBy(cfg, table)
	})
}

// decideBy has the lists and the relay go by a configuration.
func (r *rules) decideBy(cfg *config.Config, table *gate.Table) error {
	if err := r.store.CheckTable(table); err != nil {
		return err
	}
	if err := r.configure(cfg); err != nil {
		return err
	}
	r.relay.SetTable(table)
	return nil
}

// withShared does something with a configuration that is as the cluster has it,
// and keeps that one afterwards. The turn must be held.
func (r *rules) withShared(cfg *config.Config, do func() error) error {
	_, text := r.shared.now()
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
		r.shared.set(shared, text)
	}
	return err
}

// configured is the node's: other shared options are in force from the next
// command on.
func (r *rules) configured(text string) {
	r.shared.turn.Lock()
	defer r.shared.turn.Unlock()
	now, before := r.shared.now()
	if text == before {
		return
	}
	next, err := config.WithShared(now, text)
	if err == nil {
		err = r.applyShared(next)
	}
	if err != nil { // the log does not say what this program refuses to propose
		r.member.halt(fmt.Errorf("the cluster's configuration: %w", err))
		return
	}
	r.shared.set(next, text)
	if before != "" {
		r.log.Info("the options that nodes share have changed: a start or reload needs a configuration that has them (engramd cluster show)")
	}
}

// applyShared puts them into force. It is called while the store commits, and
// must not wait for it.
func (r *rules) applyShared(cfg *config.Config) error {
	table, err := wiring.Table(cfg)
	if err != nil {
		return err
	}
	if r.admin == nil {
		return errors.New("they came before the lists")
	}
	return r.decideBy(cfg, table)
}
