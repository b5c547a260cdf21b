package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{client.ErrNotFound, exitNotFound},
		{about("mem/x", client.Entry{CreatedAt: 1}, client.ErrTombstone), exitNotFound},
		{usagef("x: %w", client.ErrNotFound), exitUsage},
		{client.ErrCore, exitUsage},
		{client.ErrEmpty, exitUsage},
		{client.ErrReadOnly, exitUsage},
		{client.ErrWhen, exitUsage},
		{fmt.Errorf("a: %w", nipae.ErrSlug), exitUsage},
		{fmt.Errorf("%w: %w", client.ErrTooLarge, nipae.ErrBody), exitUsage},
		{client.ErrAuth, exitAuth},
		{&client.RefusalError{Message: "restricted: not you"}, exitAuth},
		{&client.RefusalError{Message: "auth-required: who are you"}, exitAuth},
		{&client.RefusalError{Message: "blocked: quota"}, exitAuth},
		{&client.RefusalError{Message: "invalid: x"}, exitRelay},
		{fmt.Errorf("%w: %w", client.ErrPartial, client.ErrNotFound), exitRelay},
		{client.ErrNoRelay, exitRelay},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), exitRelay},
		{fmt.Errorf("%w: %w", client.ErrUnverified, client.ErrUnreadable), exitRelay},
		{errors.New("write /dev/stdout: no space left on device"), exitRelay},
		{explained(&client.ConflictError{Reason: "other", Theirs: &client.Entry{}}), exitConflict},
		{&client.PoisonedError{Head: 1}, exitConflict},
		{fmt.Errorf("%w: hunk 1", errNoFit), exitConflict},
		{fmt.Errorf("%w: %w", client.ErrUnreadable, nipae.ErrNothingReadable), exitUnreadable},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

// TestInterrupted: an end by a signal has an exit code of its own.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &Main{
		Args: []string{"mem", "ls", "--relay", "ws://127.0.0.1:1"},
		Env: []string{"ENGRAM_KEY=0000000000000000000000000000000000000000000000000000000000000001",
			"ENGRAM_OWNER=79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"},
		Stdout: discard{}, Stderr: discard{},
	}
	cancel()
	if code := m.Run(ctx); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
