package main

import (
	"context"
	"fmt"
	"sync"

	"engramd/internal/client"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/memory/verify/writer"
)

// logs are the writer's logs of one run, each opened at the first write for its
// pair.
type logs struct {
	mu   sync.Mutex
	of   map[[2]string]client.Links // by agent and owner; nil for one that cannot be used
	open []*memorystate.State
}

// linksOf returns the log that a pair's writes go into; nil where no state is
// kept, or none can be: then they are in no log.
func (a *app) linksOf(m *client.Memory) client.Links {
	a.logs.mu.Lock()
	defer a.logs.mu.Unlock()
	pair := [2]string{m.Agent(), m.Owner()}
	if links, known := a.logs.of[pair]; known {
		return links
	}
	if a.logs.of == nil {
		a.logs.of = map[[2]string]client.Links{}
	}
	links := a.openLog(m)
	a.logs.of[pair] = links
	return links
}

func (a *app) openLog(m *client.Memory) client.Links {
	s, err := a.Settings()
	if err != nil || a.Flags.NoMirror || s.NoMirror || !m.Writable() {
		return nil
	}
	// What is open outlasts the write that opened it.
	soon, cancel := context.WithTimeout(context.Background(), a.Allow(openBudget))
	defer cancel()
	warn := a.NoteLine
	if a.log != nil {
		warn = func(line string) { a.log.Warn(line) }
	}
	state, err := a.openState(soon, m, warn)
	if err != nil {
		warn(fmt.Sprintf("what is written is in no log: %v", err))
		return nil
	}
	a.logs.open = append(a.logs.open, state)
	return writer.New(writer.Options{Links: state.Links, Memory: m.Unchained(), Warn: warn})
}

// closeLogs ends the use of the logs.
func (a *app) closeLogs() {
	a.logs.mu.Lock()
	defer a.logs.mu.Unlock()
	for _, s := range a.logs.open {
		_ = s.Close() // each number is kept already
	}
	a.logs.of, a.logs.open = nil, nil
}
