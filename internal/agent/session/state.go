package session

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"sync"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/state"
	"engramd/internal/memory/verify/writer"
)

// WriteLog is the writer's logs of a session, each opened at the first write for
// its pair.
type WriteLog struct {
	s    *Session
	mu   sync.Mutex
	of   map[[2]string]client.Links // by agent and owner; nil for one that cannot be used
	open []*state.State
}

// Of returns the log that the writes of a client's identity for an owner go into;
// nil where no state is kept, or none can be: then they are in no log.
func (l *WriteLog) Of(c *client.Client, owner string) client.Links {
	l.mu.Lock()
	defer l.mu.Unlock()
	pair := [2]string{c.Identity().PubKey(), owner}
	if links, known := l.of[pair]; known {
		return links
	}
	if l.of == nil {
		l.of = map[[2]string]client.Links{}
	}
	links := l.begin(c, owner)
	l.of[pair] = links
	return links
}

func (l *WriteLog) begin(c *client.Client, owner string) client.Links {
	if l.s.o.NoDisk {
		return nil
	}
	m, err := memory.AsAgent(c, owner)
	if err != nil {
		return nil
	}
	// What is open outlasts the write that opened it.
	soon, cancel := context.WithTimeout(context.Background(), l.s.allow(OpenBudget))
	defer cancel()
	opened, err := openState(soon, l.s, m, l.s.Warn)
	if err != nil {
		l.s.warn("what is written is in no log: %v", err)
		return nil
	}
	l.open = append(l.open, opened)
	return writer.New(writer.Options{Links: opened.Links, Memory: &Memory{Memory: m.Unchained(), s: l.s}, Warn: l.s.Warn})
}

// Close ends the use of the logs.
func (l *WriteLog) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.open {
		_ = s.Close() // each number is kept already
	}
	l.of, l.open = nil, nil
}

// openState opens what this machine knows of a pair and no relay has.
func openState(ctx context.Context, s *Session, m *memory.Memory, warn func(string)) (*state.State, error) {
	aside := false
	opened, err := state.Open(ctx, pairOf(m), state.Options{Dir: s.o.State, Now: s.o.Client.Clock, Warn: func(line string) {
		aside = true
		warn(line)
	}})
	if aside && err == nil {
		for _, a := range s.Outbox.Aside(ctx) {
			warn(a.String())
		}
	}
	return opened, err
}

func pairOf(m *memory.Memory) state.Pair {
	return state.Pair{Agent: m.Agent(), Owner: m.Owner(), Conversation: m.Conversation()}
}

// OpenState opens what this machine knows of the pair and no relay has. It must be
// closed. warn is told what became of the file, in a line.
func (s *Session) OpenState(ctx context.Context, warn func(string)) (*state.State, error) {
	return openState(ctx, s, s.Memory.Memory, warn)
}

// StateIfKept is OpenState where a state is kept; nil where none is or none can be.
// Without it everything else works.
func (s *Session) StateIfKept(ctx context.Context, warn func(string)) *state.State {
	if !s.Keeps() {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, s.allow(OpenBudget))
	defer cancel()
	soon, done := patiently(within, s, 1)
	opened, err := s.OpenState(soon, warn)
	if done(err); err != nil {
		warn(fmt.Sprintf("uses of memories are not counted: %v", err))
		return nil
	}
	return opened
}

// stateNow is the state that a session which serves has open, else one that is opened
// for one use; nil where none is kept. done ends the use.
func stateNow(ctx context.Context, s *Session) (now *state.State, done func()) {
	if s.live != nil {
		return s.live.state, func() {}
	}
	if now = s.StateIfKept(ctx, s.o.Note); now == nil {
		return nil, func() {}
	}
	return now, func() { _ = now.Close() }
}

// Plans are the plans of the pair on this machine.
func (s *Session) Plans(ctx context.Context, source answer.Source, state *state.State) (*plans.Plans, error) {
	writer, err := state.Writer(ctx)
	if err != nil {
		return nil, err
	}
	name := hex.EncodeToString(writer[:])
	return &plans.Plans{Memory: s.Memory, Source: source, Open: state.Plans, Tallies: state.Tallies, Lock: filepath.Join(s.o.State, name+".plans.lock"), Machine: name[:8]}, nil
}

// WithPlans runs do with the plans of the pair over a copy that is caught up.
func (s *Session) WithPlans(ctx context.Context, l *Copy, do func(*plans.Plans) error) error {
	state, err := s.OpenState(ctx, s.o.Note)
	if err != nil {
		return fmt.Errorf("plans are kept in the agent's state: %w", err)
	}
	defer func() { _ = state.Close() }() // each of its writes is kept already
	p, err := s.Plans(ctx, l.Confirmed(), state)
	if err != nil {
		return err
	}
	return do(p)
}
