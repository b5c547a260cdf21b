package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"engramd/internal/platform/files"
)

const (
	lockName = ".lock"
	// lockPoll is how often a lock is asked for that somebody holds: no system
	// waits for a time or a context.
	lockPoll = 20 * time.Millisecond
)

// Lock is the sole right, among all processes, to make, restore and delete the
// snapshots of one agent. It ends with its process.
type Lock struct {
	s             *Store
	tenant, agent string
	f             *os.File
}

// Lock takes the lock of an agent, waiting for at most the time given. The
// error is a *HeldError if somebody else holds it for longer. The agent's
// folder is made if it is missing.
func (s *Store) Lock(ctx context.Context, tenant, agent string, wait time.Duration) (*Lock, error) {
	dir, err := s.makeDir(tenant, agent)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock snapshots: %w", err)
	}
	if err := acquire(ctx, f, agent, wait); err != nil {
		f.Close()
		return nil, err
	}
	// Who holds it is told as well as can be: on a full disk, deleting must go on.
	_ = f.Truncate(0)
	_, _ = f.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	return &Lock{s: s, tenant: tenant, agent: agent, f: f}, nil
}

func acquire(ctx context.Context, f *os.File, agent string, wait time.Duration) error {
	waiting, done := context.WithTimeout(ctx, wait)
	defer done()
	switch err := files.Lock(waiting, f, lockPoll); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return &HeldError{Agent: agent, PID: holder(f)}
	default:
		return fmt.Errorf("lock snapshots: %w", err)
	}
}

func holder(f *os.File) int {
	buf := make([]byte, 32)
	n, _ := f.ReadAt(buf, 0)
	pid, err := strconv.Atoi(string(bytes.TrimSpace(buf[:n])))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}

// Unlock releases the lock.
func (l *Lock) Unlock() error {
	_ = l.f.Truncate(0) // first: whoever comes next must not be told of us
	return files.Unlock(l.f)
}
