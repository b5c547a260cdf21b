package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/hooklog"
	memorystate "engramd/internal/memory/state"
)

const (
	// HookBudget is how long an event may take, but the start of a session, from the first
	// instruction of the command, where a profile does not say otherwise (hook_time).
	HookBudget = time.Second
	// hookSpare is how long a hook may note and tidy up whose time is over; and what the
	// start of a session may take beyond the time of the relays.
	hookSpare = 200 * time.Millisecond
)

// hookRun is one answer to an event. What it has opened is closed once the agent has
// been told.
type hookRun struct {
	env    *cliutil.Env
	event  hook.Event
	h      hook.Harness
	in     hook.Input
	began  time.Time
	budget time.Duration
	// opened has the state, once that is open.
	opened chan *memorystate.State
	said   bool // the answer was printed
	mu     sync.Mutex
	note   func() // notes what was told, while all is open; nil notes nothing
	after  []func()
}

// hookTime is how long an event may take, from the first instruction of the
// command.
func hookTime(env *cliutil.Env, e hook.Event) time.Duration {
	if e == hook.SessionStart {
		return env.Allow(session.WakeBudget + 500*time.Millisecond)
	}
	if env.HookTime > 0 {
		return env.HookTime
	}
	said := make(chan time.Duration, 1)
	go func() { // the file may be a pipe; an error comes again
		defer recovered()
		profile, _ := env.Profile()
		said <- profile.Hook
	}()
	budget := HookBudget
	select {
	case most := <-said:
		budget = cmp.Or(most, budget)
	case <-time.After(env.Allow(hookSpare)):
	}
	return env.Allow(budget)
}

// left is how much time there is to note and to tidy up.
func (r *hookRun) left() time.Duration {
	least := hookSpare
	if r.event == hook.SessionStart {
		least = session.Tidy
	}
	return max(r.budget-time.Since(r.began), r.env.Allow(least))
}

// aside runs what nobody is told of. What takes longer is left behind.
func aside(left time.Duration, do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer recovered()
		do()
	}()
	select {
	case <-done:
	case <-time.After(left):
	}
}

// recovered ends a panic of a goroutine that nobody waits for in vain.
func recovered() { _ = recover() }

// answerHook answers one event.
func answerHook(ctx context.Context, env *cliutil.Env, e hook.Event, h hook.Harness) error {
	began := time.Now()
	if !hook.Known(e, h) {
		return exit.Usagef("there is no event %q, or no harness %q", e, h)
	}
	budget := hookTime(env, e)
	most := budget
	if e == hook.SessionStart {
		most = env.Allow(HookBudget) // it goes on without
	}
	in, err := hookReads(ctx, env, h, most)
	if err != nil && e != hook.SessionStart {
		return err
	}
	if err != nil { // the core does not depend on it
		env.Note("%v", err)
	}
	if in.Folder == "" {
		in.Folder = env.Dir
	}
	if in.Folder == "" {
		in.Folder, _ = os.Getwd() // "" is no project
	}
	quiet := *env.System
	stderr := cliutil.NewShutter(env.Err())
	defer stderr.Shut()
	quiet.Stderr, quiet.Terminal = stderr, cliutil.Terminal{} // nobody is asked, and nobody watches
	r := &hookRun{env: env.On(&quiet), event: e, h: h, in: in, began: began, budget: budget, opened: make(chan *memorystate.State, 1)}
	text, err := r.answer(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		r.late()
		return err // what is open ends with the process
	}
	defer r.tidy()
	if err != nil {
		return err
	}
	shaped := hook.Shape(h, e, text)
	if _, err := io.WriteString(env.Stdout, shaped); err != nil {
		return err
	}
	r.said = true
	hookLog(env, began, e, h, hooklog.Outcome{Session: in.Session, Bytes: len(shaped)})
	return nil
}

// late notes of a prompt that it was not answered in time, as far as there is time for
// that.
func (r *hookRun) late() {
	id := session.Name(r.in.Session)
	if r.event != hook.Prompt || id == "" {
		return
	}
	aside(r.left(), func() {
		ctx, done := context.WithTimeout(context.Background(), r.left())
		defer done()
		select {
		case state := <-r.opened:
			_ = state.Turns.Prompt(ctx, memorystate.Turn{Session: memorystate.Session{ID: id, Harness: string(r.h)}, Note: memorystate.Late})
		case <-ctx.Done():
		}
	})
}

// later has something done once the agent has been told, the last first.
func (r *hookRun) later(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = append(r.after, do)
}

// noting has what was told noted, before what was opened is closed.
func (r *hookRun) noting(do func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note = func() {
		ctx, done := context.WithTimeout(context.Background(), r.left())
		defer done()
		do(ctx)
	}
}

// tidy notes what was told, and closes what was opened.
func (r *hookRun) tidy() {
	aside(r.left(), func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.note != nil {
			r.note()
		}
		for _, do := range slices.Backward(r.after) {
			do()
		}
	})
}

// hookReads reads what the harness says, for which it waits so long.
func hookReads(ctx context.Context, env *cliutil.Env, h hook.Harness, most time.Duration) (hook.Input, error) {
	type read struct {
		in  hook.Input
		err error
	}
	done := make(chan read, 1)
	go func() { // left behind where stdin never ends
		defer func() {
			if recover() != nil {
				done <- read{err: hook.ErrInput}
			}
		}()
		in, err := hook.Read(h, env.Stdin)
		done <- read{in, err}
	}()
	select {
	case r := <-done:
		return r.in, r.err
	case <-time.After(most):
		return hook.Input{}, fmt.Errorf("%w: %w within %v", hook.ErrInput, errSaidLate, most)
	case <-ctx.Done():
		return hook.Input{}, ctx.Err()
	}
}

// answer makes what is told at the event, within its time.
func (r *hookRun) answer(ctx context.Context) (string, error) {
	answer := func(context.Context) (string, error) { return "", nil }
	switch r.event {
	case hook.SessionStart:
		answer = r.wake
	case hook.Prompt:
		answer = r.prompt
	case hook.SubagentStart:
		answer = r.subagent
	case hook.Stop:
		answer = r.stop
	case hook.PreCompact:
		answer = r.keep
	case hook.SessionEnd:
		answer = r.end
	}
	ctx, cancel := context.WithDeadline(ctx, r.began.Add(r.budget))
	defer cancel()
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				done <- outcome{"", errBroke}
			}
		}()
		text, err := answer(ctx)
		done <- outcome{text, err}
	}()
	select {
	case o := <-done:
		return o.text, o.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
