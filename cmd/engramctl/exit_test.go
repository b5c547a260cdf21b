package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exit.OK},
		{client.ErrNotFound, exit.NotFound},
		{cliutil.About("mem/x", client.Entry{CreatedAt: 1}, client.ErrTombstone), exit.NotFound},
		{exit.Usagef("x: %w", client.ErrNotFound), exit.Usage},
		{client.ErrCore, exit.Usage},
		{client.ErrEmpty, exit.Usage},
		{client.ErrReadOnly, exit.Usage},
		{client.ErrWhen, exit.Usage},
		{fmt.Errorf("a: %w", nipae.ErrSlug), exit.Usage},
		{fmt.Errorf("%w: %w", client.ErrTooLarge, nipae.ErrBody), exit.Usage},
		{client.ErrAuth, exit.Auth},
		{&client.RefusalError{Message: "restricted: not you"}, exit.Auth},
		{&client.RefusalError{Message: "auth-required: who are you"}, exit.Auth},
		{&client.RefusalError{Message: "blocked: quota"}, exit.Auth},
		{&client.RefusalError{Message: "invalid: x"}, exit.Relay},
		{fmt.Errorf("%w: %w", client.ErrPartial, client.ErrNotFound), exit.Relay},
		{client.ErrNoRelay, exit.Relay},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), exit.Relay},
		{fmt.Errorf("%w: %w", client.ErrUnverified, client.ErrUnreadable), exit.Relay},
		{errors.New("write /dev/stdout: no space left on device"), exit.Relay},
		{cliutil.Explained(&client.ConflictError{Reason: "other", Theirs: &client.Entry{}}), exit.Conflict},
		{&client.PoisonedError{Head: 1}, exit.Conflict},
		{fmt.Errorf("%w: hunk 1", exit.ErrNoFit), exit.Conflict},
		{fmt.Errorf("%w: %w", client.ErrUnreadable, nipae.ErrNothingReadable), exit.Unreadable},
	} {
		if got := exit.CodeOf(c.err); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.err, got, c.want)
		}
	}
}

// TestInterrupted: an end by a signal has an exit code of its own.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := &root.Main{
		Args: []string{"mem", "ls", "--relay", "ws://127.0.0.1:1"},
		Env: []string{"ENGRAM_KEY=0000000000000000000000000000000000000000000000000000000000000001",
			"ENGRAM_OWNER=79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"},
		Stdout: discard{}, Stderr: discard{},
	}
	cancel()
	if code := m.Run(ctx); code != exit.Interrupted {
		t.Errorf("exit code %d", code)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
