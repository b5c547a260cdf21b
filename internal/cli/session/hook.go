// Package session is what a harness runs beside a session of its agent: engramctl hook, wake and mcp.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/hook"
	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
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

// NewHook returns engramctl hook.
func NewHook(env *cliutil.Env) *cobra.Command {
	var harness string
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "hook EVENT --harness claude|codex|cursor|opencode|gemini|qwen|copilot|openclaw|generic",
		Short: "Answer an event of the program that runs the agent",
		Long: `Answer an event of the program that runs the agent. It says on stdin, in JSON, what
happened; what is printed goes into the agent's context. EVENT is one of

  session-start   what engramctl wake prints: the core, the narrative, the memory of
                  the project in which the session works, intentions that are due,
                  what waits, and a replay of episodes; after a compaction the
                  request to write a checkpoint
  prompt          intentions that are due or may apply, and what is remembered of the
                  folder's project and of none, and bears on the prompt, if anything is
  subagent-start  titles of the project's memory
  stop            once, in a session of 8 prompts that remembered nothing: the
                  question whether something in it matters later
  pre-compact     for the summary: what is not remembered yet is to stand in it whole.
                  A compaction is never held up
  session-end     nothing

Nothing is printed that is external: such texts are counted. What the owner proposes
stands beneath what it corrects before the agent has answered it, also at the next prompt
of a session that was shown that (docs/proposals.md).

This is for the harness's settings to run, one line for each event; docs/harness.md has
them. It ends with exit code 0 whatever happens, since a harness may take another for a
decision, and prints nothing when it fails; but session-start says then that the memory
is unavailable. A prompt is answered from the local copy within 1 s (hook_time in a
profile), or not at all; engramctl doctor says how many were late, and engramctl why what
was told. session-start asks the relays for 2 s. One line for each hook goes into hook.log
in $XDG_STATE_HOME/engramd, without a word of prompts and memories.

With --attest (attest = true in a profile) session-start also tells who the agent is and
where the session continues from, and signs that, in an archived note, once for each
session (docs/trust.md).

The key must be usable without a person. ENGRAM_HOOKS=off makes hooks, and engramctl
mcp, end at once.`,
		Example: `  engramctl hook session-start --harness claude || exit 0
  echo '{"prompt":"How do we release Atlas?","session_id":"s1"}' | engramctl hook prompt`,
	}, func(ctx context.Context, args []string) error {
		return answerHook(ctx, env, hook.Event(args[0]), hook.Harness(harness))
	}))
	attestFlag(env, c)
	c.Flags().StringVar(&harness, "harness", string(hook.Generic), "`program` that runs the agent: claude, codex, cursor, opencode, gemini, qwen, copilot, openclaw, generic")
	return c
}

// IsHook reports whether a command line is a hook's: before the word is nothing
// but flags and their values, and no other command's name.
func IsHook(args []string, other func(word string) bool) (said bool) {
	for i, arg := range args {
		after := i > 0 && strings.HasPrefix(args[i-1], "-") // maybe a value
		value := after && takesValue(args[i-1])
		switch {
		case arg == "hook" && value: // where no other command follows, a value was forgotten
			said = true
		case arg == "hook":
			return true
		case strings.HasPrefix(arg, "-") || value:
		case other(arg):
			return false
		case !after:
			return said
		}
	}
	return said
}

// takesValue reports whether a flag that stands before the command takes the
// word that follows it.
func takesValue(flag string) bool {
	return slices.Contains([]string{"--config", "--profile", "--key-file", "--relay", "--timeout", "--owner", "--agent", "--harness"}, flag)
}

// meant is what a command line asks for that may be wrong.
func meant(args []string) (e hook.Event, h hook.Harness) {
	h = hook.Generic
	for i, arg := range args {
		name, inline := strings.CutPrefix(arg, "--harness=")
		switch {
		case inline:
		case i > 0 && args[i-1] == "--harness":
			name = arg
		case e == "" && slices.Contains(hook.Events, hook.Event(arg)):
			e = hook.Event(arg)
			continue
		default:
			continue
		}
		if slices.Contains(hook.Harnesses, hook.Harness(name)) {
			h = hook.Harness(name)
		}
	}
	return e, h
}

// hooksOff says that nothing is to be remembered by itself: hooks and the MCP
// server end at once.
func hooksOff(env *cliutil.Env) bool { return env.Vars["ENGRAM_HOOKS"] == "off" }

// tried reports whether setup or doctor only looks what would be said: nothing is signed
// or accepted then, of which the state that is thrown away would know alone.
func tried(env *cliutil.Env) bool { return env.Vars["ENGRAM_HOOKS"] == "try" }

// RunHook runs a hook's command line. Its exit code is always 0.
func RunHook(env *cliutil.Env, run func() (*cobra.Command, error)) int {
	if hooksOff(env) {
		return exit.OK
	}
	e, h := meant(env.Args)
	began := time.Now()
	defer func() {
		if recover() != nil {
			hookSays(env, h, e, unavailable(env, errBroke))
			hookLog(env, began, e, h, hookOutcome{class: "panic"})
		}
	}()
	if cmd, err := run(); err != nil {
		hookSays(env, h, e, unavailable(env, err))
		cliutil.Complain(env, cmd, err)
		hookLog(env, began, e, h, hookOutcome{class: fmt.Sprintf("exit code %d", exit.CodeOf(err))})
	}
	return exit.OK
}

// errBroke is a panic, of which the text may be anything.
var errBroke = errors.New("a fault of this program")

// hookOutcome is what the log says of a hook.
type hookOutcome struct {
	class   string // "" is done
	session string
	bytes   int // that were told
}

// hookSays prints what an agent is told, in its harness's shape. At other events
// than a session's start an agent is not told that something failed.
func hookSays(env *cliutil.Env, h hook.Harness, e hook.Event, unavailable string) {
	if e == hook.SessionStart {
		_, _ = io.WriteString(env.Stdout, hook.Shape(h, e, unavailable)) // nobody can be told
	}
}

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
	stderr := cliutil.NewShutter(env.Stderr)
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
	hookLog(env, began, e, h, hookOutcome{session: in.Session, bytes: len(shaped)})
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
		return hook.Input{}, fmt.Errorf("%w: it did not come within %v", hook.ErrInput, most)
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

// unavailable is the section that says why there is no memory.
func unavailable(env *cliutil.Env, err error) string {
	why := "the relays could not be reached"
	if errors.Is(err, errBroke) {
		why = "engramctl broke"
	}
	why = cmp.Or(map[int]string{
		exit.NotFound:   "it is set up for another owner or agent than yours",
		exit.Usage:      "it is not set up rightly",
		exit.Auth:       "the relays refuse your key",
		exit.Unreadable: "what is there cannot be decrypted",
	}[exit.CodeOf(err)], why)
	known := &unreadError{}
	errors.As(err, &known)
	if errors.Is(err, client.ErrBehind) {
		known.seen, why = true, "relays do not show its newest version, and this machine has no text of it (engramctl repair says more)"
	}
	return hook.Wake(hook.Units, hook.Unavailable(why, known.seen, known.kept))
}
