package session

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	agentwhy "engramd/internal/agent/why"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
)

// silences say what a turn's note means.
var silences = map[string]string{memorystate.Late: "not answered in time", memorystate.Failed: "nothing was told: the memory could not be read, or the answer did not reach the agent"}

const maxShownID = 16 // digits of a version

// NewWhy returns engramctl why.
func NewWhy(env *cliutil.Env) *cobra.Command {
	var id string
	prompt := int64(-1)
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "why [--session ID] [--prompt N] [--json]",
		Short: "Show what a session was told unasked, and why",
		Long: `Show what hooks told a session of the agent on this machine: every text, at the start or
at which prompt, in which version and for which reason, and what was withheld and why.

The reasons are core, narrative, project, replay and intention; at prompts the words that
the prompt and the text both have, "title" where only that was told, and what else speaks
for it. Withheld was what bears on the prompt, or is the project's, and is external
(somebody else's words), of another project, stale (superseded), archived or done, or of a
folder that is not linked. A prompt that was not answered in time says so.

Without --session it is the session that was told last. --prompt 0 is its start. Prompts
are counted from 1, and none of their texts is kept. The state of this machine has this
for 30 days, sealed. No relay is asked. "replaced" says that the memory has another
version by now: engramctl mem get SLUG --at VERSION shows the one that was told.`,
		Example: `  engramctl why
  engramctl why --session 0c2f1e9a-77b4-4e0e-9a5e-2f3f8f4f6f11 --prompt 3`,
	}, func(ctx context.Context, _ []string) error { return why(ctx, env, session.Name(id), prompt) }))
	c.Flags().StringVar(&id, "session", "", "`ID` of the session, as its harness gives it")
	c.Flags().Int64Var(&prompt, "prompt", -1, "only that prompt; 0 is the start")
	return c
}

func why(ctx context.Context, env *cliutil.Env, id string, prompt int64) error {
	s, err := env.Session(ctx, cliutil.Configured)
	if err != nil {
		return err
	}
	defer s.Close()
	if !s.Keeps() {
		return exit.Usagef("only where the agent works, and with a copy, is it kept what its sessions were told")
	}
	state, err := s.OpenState(ctx, env.NoteLine)
	if err != nil {
		return err
	}
	defer state.Close()
	of := &prompt
	if prompt < 0 {
		of = nil
	}
	var source answer.Source
	if kept, err := s.Copies.OnDisk(ctx); kept != nil && err == nil {
		defer func() { _ = kept.Leave() }()
		source = s.OnDisk(ctx, kept, state)
	}
	out, err := agentwhy.Of(ctx, state.Turns, source, id, of)
	if err != nil {
		return err
	}
	if env.Flags.JSON {
		return env.PrintJSON(out)
	}
	return printWhy(env, out)
}

func printWhy(env *cliutil.Env, o agentwhy.Answer) error {
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "session %s of %s\n", o.Session, o.Harness)
	for _, t := range o.Turns {
		name := "start"
		if t.Prompt > 0 {
			name = fmt.Sprint("prompt ", t.Prompt)
		}
		none := ""
		if len(t.Told) == 0 {
			none = "  " + cmp.Or(silences[t.Silent], "nothing was told")
		}
		fmt.Fprintf(w, "%s  %s%s\n", name, t.Time, none)
		lines(w, "told", t.Told)
		lines(w, "withheld", t.Withheld)
	}
	return w.Flush()
}

func lines(w io.Writer, how string, texts []agentwhy.Text) {
	for _, t := range texts {
		if t.Replaced {
			t.Reason += " (replaced)"
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", how, t.Slug, cmp.Or(t.Version[:min(len(t.Version), maxShownID)], "-"), cliutil.Harmless(t.Reason))
	}
}
