package snapshots

import (
	"context"
	"time"

	"engramd/internal/relay/gate"
)

// Quarantine is what a rollback took away and can be brought back.
type Quarantine struct {
	Name     string    `json:"name"`
	Agent    string    `json:"agent"`
	MovedAt  time.Time `json:"moved_at"`
	Heads    int64     `json:"heads"`
	Versions int64     `json:"versions"` // superseded ones
}

// Quarantines returns what rollbacks took away, newest first; of one agent
// unless it is "".
func (s *Service) Quarantines(ctx context.Context, agent string) ([]Quarantine, error) {
	list, err := s.store.Quarantines(ctx, gate.Operator())
	out := []Quarantine{}
	for _, q := range list {
		if agent == "" || q.Agent == agent {
			out = append(out, Quarantine{Name: q.Name, Agent: q.Agent, MovedAt: time.Unix(q.MovedAt, 0).UTC(), Heads: q.Heads, Versions: q.Versions})
		}
	}
	return out, err
}

// ReleaseQuarantine brings back what a rollback took away: heads where nothing
// newer is by now, all else as history. The error is store.ErrNoQuarantine if
// nothing is kept under the name.
func (s *Service) ReleaseQuarantine(ctx context.Context, name string) (Restored, error) {
	done, err := s.store.ReleaseQuarantine(ctx, name)
	out := Restored{}
	out.take(done)
	return out, err
}

// DropQuarantine forgets for good what a rollback took away. Errors are those
// of ReleaseQuarantine.
func (s *Service) DropQuarantine(ctx context.Context, name string) error {
	return s.store.DropQuarantine(ctx, name)
}
