// Package session is what a harness runs beside a session of its agent: engramctl hook, wake and mcp.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/hook"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/hooklog"
	"engramd/internal/client"
)

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
			hookLog(env, began, e, h, hooklog.Outcome{Class: "fault"})
		}
	}()
	if cmd, err := run(); err != nil {
		hookSays(env, h, e, unavailable(env, err))
		cliutil.Complain(env, cmd, err)
		hookLog(env, began, e, h, hooklog.Outcome{Class: silence(err)})
	}
	return exit.OK
}

// errBroke is a panic, of which the text may be anything.
var errBroke = errors.New("a fault of this program")

// errNoState is that what this machine knows could not be opened, or not in time.
var errNoState = errors.New("the state of this machine could not be opened")

// errSaidLate is a harness that has not said what it runs the hook for.
var errSaidLate = errors.New("it did not come")

// silence is why nothing was told, in the log's words.
func silence(err error) string {
	switch code := exit.CodeOf(err); {
	case errors.Is(err, context.DeadlineExceeded):
		return hooklog.Late
	case errors.Is(err, errSaidLate):
		return hooklog.SaidLate
	case errors.Is(err, hook.ErrInput):
		return "input not readable"
	case errors.Is(err, errNoState):
		return "no state"
	case code == exit.Usage:
		return "settings or key"
	default:
		return fmt.Sprintf("exit code %d", code)
	}
}

// hookLog writes one line on a hook; the disk may hang.
func hookLog(env *cliutil.Env, began time.Time, e hook.Event, h hook.Harness, o hooklog.Outcome) {
	aside(env.Allow(hookSpare), func() { hooklog.Write(env, began, e, h, o) })
}

// hookSays prints what an agent is told, in its harness's shape. At other events
// than a session's start an agent is not told that something failed.
func hookSays(env *cliutil.Env, h hook.Harness, e hook.Event, unavailable string) {
	if e == hook.SessionStart {
		_, _ = io.WriteString(env.Stdout, hook.Shape(h, e, unavailable)) // nobody can be told
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
