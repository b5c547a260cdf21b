package state

import (
	"context"

	"engramd/internal/memory/state/sealedfile"
)

// Seen notes that a session is there, and begins it if it is new.
func (s Sessions) Seen(ctx context.Context, id, harness string) error {
	if err := fits(id, harness); err != nil {
		return err
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error { return s.touch(tx, id, harness) })
}

// All returns the sessions, seen last first.
func (s Sessions) All(ctx context.Context) ([]Session, error) {
	return list(ctx, s.db, sessionOf, "SELECT "+sessionColumns+" FROM sessions ORDER BY seen DESC, id")
}
