// Package doctor checks everything between an agent and its memory: engramctl doctor.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
)

// finding is what one check found.
type finding struct {
	Check  string `json:"check"`
	State  state  `json:"state"`
	Text   string `json:"text"`
	Remedy string `json:"remedy,omitempty"` // what to do
	err    error  // of a failure: its kind is the exit code's
}

// state is how a check ended.
type state string

const (
	fine    state = "ok"
	warned  state = "warning"
	failed  state = "failed"
	untried state = "untried"
)

// doctorOut is `doctor --json`.
type doctorOut struct {
	OK       bool      `json:"ok"` // nothing failed
	Findings []finding `json:"findings"`
}

// New returns engramctl doctor.
func New(env *cliutil.Env) *cobra.Command {
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "doctor [--json]",
		Short: "Look at everything that can be wrong, and say what to do",
		Long: `Look at everything that can be wrong between an agent and its memory, and say what to
do: the programs in PATH and their versions, profile and key, each relay (does it answer,
with this key, does it take what this key writes, is its clock right, which version is
it), the agent's list of relays, the core, the copy and the state on this machine, what
it knows and no relay shows (a failure) or one relay lacks (a warning), whether the
working folder is linked to its project, projects that still have an older name, the
settings of each harness, what it asks a person for and remembers by itself, and how fast
its hooks and its MCP server are.

Nothing is changed, with one exception. Whether a relay takes writes is asked by sending it
once more what it took within an hour; where there is none of that, one text is written to
mem/sys/setup, as setup does. How many of the last prompts were not answered in time is
told, with the reasons. No key or text is printed, and no slug but that of a project.

The exit code is 0 if nothing failed, warnings or not; else it is that of the first
failure, as the command that needs it would have it.`,
		Example: `  engramctl doctor
  engramctl doctor --profile work --json`,
	}, func(ctx context.Context, _ []string) error {
		// What the checks have to say they say in findings, and none asks anything.
		quiet := *env.System
		quiet.Stderr, quiet.Terminal = io.Discard, cliutil.Terminal{Stdout: env.Terminal.Stdout}
		d := &doctor{env: env.On(&quiet)}
		d.all(ctx)
		if env.Flags.JSON {
			return cliutil.FirstOf(d.failure(), env.PrintJSON(doctorOut{OK: d.failure() == nil, Findings: d.found}))
		}
		return cliutil.FirstOf(d.show(), d.failure())
	}))
	c.Flags().Bool("write", true, "")
	_ = c.Flags().MarkHidden("write") // it is what is done; the flag exists
	return c
}

// doctor is one run of the checks.
type doctor struct {
	env       *cliutil.Env
	found     []finding
	unwritten []string // relays that took nothing lately
}

// all makes all checks that can be made.
func (d *doctor) all(ctx context.Context) {
	d.programs(ctx)
	d.environment(ctx)
	if s, ok := d.profileAndKey(ctx); ok {
		d.memory(ctx, s)
	}
	d.harnesses(ctx)
	d.prompts()
	d.server(ctx)
}

// add notes a finding.
func (d *doctor) add(check string, s state, remedy, format string, args ...any) {
	d.found = append(d.found, finding{Check: check, State: s, Text: settings.Redact(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")), Remedy: remedy})
}

// fail notes a failure.
func (d *doctor) fail(check string, err error, remedy string) {
	d.add(check, failed, remedy, "%v", err)
	d.found[len(d.found)-1].err = err
}

// show prints a line for each finding.
func (d *doctor) show() error {
	return cliutil.Each(d.env, d.found, func(f finding) string {
		mark := map[state]string{fine: "ok", warned: "warning", failed: "FAILED", untried: "-"}[f.State]
		line := fmt.Sprintf("%-8s %-10s %s", mark, f.Check, f.Text)
		if f.Remedy != "" {
			line += " → " + f.Remedy
		}
		return cliutil.Harmless(line)
	})
}

// failure is the error of the run: nil if nothing failed.
func (d *doctor) failure() error {
	var first error
	n := 0
	for _, f := range d.found {
		if f.State == failed {
			n++
			first = cliutil.FirstOf(first, f.err, errors.New(f.Text))
		}
	}
	if n == 0 {
		return nil
	}
	return doctorError{n, len(d.found), first}
}

// doctorError says how many checks failed; it is an error of the first one's kind.
type doctorError struct {
	failed, all int
	first       error
}

// Error counts.
func (e doctorError) Error() string { return fmt.Sprintf("%d of %d checks failed", e.failed, e.all) }

// Unwrap is what the exit code goes by.
func (e doctorError) Unwrap() error { return e.first }
