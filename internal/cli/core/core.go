// Package core prints the agent's core as a section of a prompt: engramctl core.
package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/hook"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/quote"
	"engramd/nips/nipae"
)

const (
	coreTitle = "[Agent Memory — core]"
	// CoreHint stands where the profile would, once it is sure that there is none.
	CoreHint = `Nothing is remembered yet. When you learn who the user is or how they want to work, write it to core with memory_write.`
	// CorePartial follows a profile that may not be the newest.
	CorePartial = `(Not every relay answered: there may be a newer version of this. Do not write it anew in this session.)`
	// coreTimeout bounds `core` from its first instruction to its exit.
	coreTimeout = 3 * time.Second
	// coreReserve is the share of the time limit that is kept back, so that what
	// the relays did is known and said before the limit.
	coreReserve = 0.1
)

// coreOut is `core --format json`.
type coreOut struct {
	cliutil.AnswerOut
	State     string `json:"state"`   // "present", "unconfirmed" or "absent": see New
	Section   string `json:"section"` // the text format
	Profile   string `json:"profile,omitempty"`
	CreatedAt int64  `json:"created_at,omitempty"`
	Time      string `json:"time,omitempty"`
	ID        string `json:"id,omitempty"`
	Hash      string `json:"hash,omitempty"`
	AsOf      string `json:"as_of,omitempty"` // when relays were last asked for one that is unconfirmed
}

// New returns engramctl core.
func New(env *cliutil.Env) *cobra.Command {
	var o struct {
		format  string
		timeout time.Duration
		strict  bool
	}
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "core [--format text|json] [--timeout 3s] [--strict]",
		Short: "Print the agent's core as a prompt section, for harnesses",
		Long: `Print the agent's core memory as a section for its prompt:

  ` + coreTitle + `
  a line that says what stands behind |
  | the profile

If every relay confirms that there is none, a hint how to begin stands in its
place, and the exit code is 0 too: for the agent, if it has no memory with another
owner either. Otherwise the owner is most likely the wrong one: stderr says for
whom there is memory, and the exit code is 1. An owner is never told to begin,
but what the owner's key can know, with exit code 1.

A core that was found while some relay did not answer in full is printed with a
last line that says so, and stderr says which relay; with --strict it is a failure.
Where relays show an older one than this machine has, or none, its own is printed, and
a last line says so (exit code 6 with --strict). Where no relay answers, it is printed as
unconfirmed, with the time as of which it is (exit code 4 with --strict). One that waits
on this machine (engramctl outbox) is printed as not sent yet. With --relay, what those
relays show is printed, and never the hint.

JSON has state: "present", "unconfirmed" (with stale and as_of, or queued) or "absent"; behind,
where relays show less than this machine has; and the section of the text format.

On any failure nothing is printed on stdout, the reason is on stderr, and the exit
code is not 0: no core found and a relay that failed, a time limit, something
unreadable, a refused key. So a harness never takes "could not look" for "nothing
there", which would invite the agent to write over its memory.

Each version that was written has a number. Where no relay shows a core, and neither
they nor this machine account for each number as that of another memory, the core may
be lost: that is the error then, with exit code 6 (docs/trust.md).

The command ends within --timeout (3 s) from its start, whatever the relays, the
network or the name service do.`,
		Example: `  section=$(engramctl core) || { echo "no memory today" >&2; exit 1; }
  engramctl core --format json | jq -r .state`,
	}, func(ctx context.Context, _ []string) error {
		if o.format != "text" && o.format != "json" {
			return exit.Usagef("--format: %q is none of text, json", o.format)
		}
		if o.timeout <= 0 {
			return exit.Usagef("--timeout must be more than 0")
		}
		env.Flags.Strict = o.strict
		return core(ctx, env, o.format, o.timeout)
	}))
	cliutil.FormatFlag(c, &o.format, "text", "json")
	c.Flags().DurationVar(&o.timeout, "timeout", env.Allow(coreTimeout), "time limit for everything")
	c.Flags().BoolVar(&o.strict, "strict", false, "a core that was found while some relay failed is a failure (exit code 4, nothing on stdout)")
	return c
}

// core prints the section, all of it or nothing, within the time limit.
func core(ctx context.Context, env *cliutil.Env, format string, timeout time.Duration) error {
	parent := ctx
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	asking, done := context.WithTimeout(ctx, time.Duration(float64(timeout)*(1-coreReserve)))
	defer done()
	stderr := cliutil.NewShutter(env.Err())
	defer stderr.Shut() // what is left behind must not write any more
	aside := *env.System
	aside.Stderr, aside.Terminal.Stderr = stderr, false
	b := env.On(&aside)
	b.Flags.Timeout = timeout
	type outcome struct {
		text []byte
		err  error
	}
	outcomes := make(chan outcome, 1)
	go func() {
		text, err := readCore(asking, b, format)
		outcomes <- outcome{text, err}
	}()
	select {
	case o := <-outcomes:
		if o.err != nil {
			return o.err
		}
		// On a terminal as mem get: its owner may be looking at what others made
		// the agent write.
		return env.PrintText(string(o.text))
	case <-ctx.Done():
		if parent.Err() != nil {
			return parent.Err()
		}
		return fmt.Errorf("%w: the core could not be read within %v", client.ErrTimeout, timeout)
	}
}

// readCore makes what is to be printed.
func readCore(ctx context.Context, env *cliutil.Env, format string) ([]byte, error) {
	opened, err := env.Session(ctx)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	m := opened.Memory
	if err := m.Session().Discover(ctx); err != nil && !client.Silent(err) { // what this machine has may do
		return nil, err
	}
	entry, status, err := m.Read(ctx, nipae.Core)
	absent := errors.Is(err, client.ErrNotFound)
	if absent {
		if err = nil; status.Behind == 0 {
			err = cliutil.MayBegin(ctx, m)
		}
	}
	if err := env.Report(status, err); err != nil {
		return nil, err
	}
	out := coreOut{AnswerOut: cliutil.AnswerOf(m, status), State: "absent", Section: section(CoreHint)}
	switch {
	case absent && status.Named:
		out.Section = section(hook.NotShown)
	case !absent:
		out.State, out.Profile, out.Section = "present", entry.Text, section(quote.Notice+quote.Text(entry.Text, false))
		out.CreatedAt, out.Time, out.ID, out.Hash = entry.CreatedAt, cliutil.Stamp(entry.CreatedAt), entry.ID, entry.Hash
		switch {
		case status.Queued:
			out.State, out.Section = "unconfirmed", hook.Core(entry.Text, hook.Unsent).Text
		case status.Waits:
			out.Section += hook.Waits + "\n"
		case status.Stale:
			at := m.AsOf(ctx, entry)
			out.State, out.AsOf, out.Section = "unconfirmed", cliutil.Stamp(at.Unix()), hook.Unconfirmed(entry.Text, at).Text
		case status.Behind > 0:
			out.Section += hook.Behind + "\n"
		case status.Partial:
			out.Section += CorePartial + "\n"
		}
	}
	if format == "text" {
		return []byte(out.Section), nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err = enc.Encode(out)
	return b.Bytes(), err
}

// section returns the prompt section with a text.
func section(text string) string {
	text = coreTitle + "\n" + text
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}
