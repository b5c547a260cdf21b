package session

import (
	"context"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
)

// Plans are the plans of the pair on this machine.
func (s *Session) Plans(ctx context.Context, source answer.Source, state *memorystate.State) (*plans.Plans, error) {
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
	p, err := s.Plans(ctx, l.Source(), state)
	if err != nil {
		return err
	}
	return do(p)
}
