package management

import (
	"context"
	"fmt"

	"engramd/internal/relay/store"
)

// sharedCall has a change executed by all nodes, of which this is one. It is
// prepared to see that it can be, and takes effect by Applied, which is called
// before Administer returns.
func (s *Service) sharedCall(ctx context.Context, m *method, c *Call, a *args, line store.AdminCall) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	s.mu.Lock()
	entry, _, _, err := s.prepared(m, c, a)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	line.Outcome = outcome(nil)
	if err := s.store.Administer(ctx, entry, line); err != nil {
		return s.failure(m.name, err)
	}
	return nil
}

// Applied puts a change into force that was executed here, whichever node's call
// it was; nil is a call that changed nothing. It is called on the goroutine of
// the store's writer, after the commit and before the next command, in the order
// of the commands, and reads nothing of the store. Before Configure only the
// lists take it in.
//
// After an error the lists and the rules of this node are not what they are on
// the others: it must execute nothing more.
func (s *Service) Applied(change *store.AdminEntry) error {
	if change == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.lists.with(change)
	if s.prepare != nil {
		apply, err := s.prepare(next.rules(s.config))
		if err != nil {
			return fmt.Errorf("management: a change that other nodes have cannot be put into force here: %w", err)
		}
		apply()
	}
	s.lists = next
	return nil
}
