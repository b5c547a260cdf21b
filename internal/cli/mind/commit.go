package mind

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	agentview "engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/consolidation/thinker"
	"engramd/nips/frontmatter"
)

// CommittedOut is what the commands that carry a plan out print as JSON.
type CommittedOut struct {
	Plan    string             `json:"plan"` // of the record; "" if nothing was to be written
	Status  plans.Status       `json:"status,omitempty"`
	Changes []agentview.Change `json:"changes"`
	Left    []plans.Left       `json:"left,omitempty"`
	Behind  []string           `json:"behind,omitempty"` // relays that did not take all of it
	Again   bool               `json:"again,omitempty"`
}

func commitCommand(env *cliutil.Env) *cobra.Command {
	var propose bool
	c := env.Command(&cobra.Command{
		Use:   "commit PLAN [FILE|-] [--propose] [--json]",
		Short: "Check operations on a plan, and carry them out",
		Long: `Check operations on a plan that mind prepare or mind dream has shown here, and carry
them out: all of them or none. FILE, or stdin, has {"operations": [...]} as the plan's
rules say, words and a fence around it do no harm; an empty list is a right answer, and
writes nothing.

An operation that is wrong is named, and nothing is written (exit code 2). If a memory
is not any more what the plan showed, nothing is written either (5): prepare again.
What somebody else changes while it is carried out is left and named (5). Prints what
was written; mind undo takes it back. A commit that is killed goes on with the next
command of mind on this machine, or if it is given again.

With --propose nothing is changed: the operations wait in the plan's record for mind
review.`,
		Example: `  engramctl mind commit p-5f1b8e0c9a3d2e44 answer.json
  claude -p --tools "" < plan.md | engramctl mind commit p-5f1b8e0c9a3d2e44 --propose`,
	}, func(ctx context.Context, args []string) error {
		if !consolidation.IsID(args[0]) {
			return exit.Usagef("%q: %w", args[0], plans.ErrID)
		}
		ops, err := operations(env, args[1:])
		if err != nil {
			return err
		}
		return WithPlans(ctx, env, func(ctx context.Context, p Thinking) error {
			carry := p.Commit
			if propose {
				carry = p.Propose
			}
			r, err := carry(ctx, args[0], ops)
			if err != nil {
				return UnderstoodPlan(err)
			}
			return PrintCommitted(env, r)
		})
	})
	c.Flags().BoolVar(&propose, "propose", false, "leave the operations to be looked at (mind review)")
	return c
}

// operations reads those of a file, or of stdin.
func operations(env *cliutil.Env, args []string) ([]consolidation.Op, error) {
	if len(args) == 0 || args[0] == "-" {
		if env.Terminal.Stdin {
			env.Note("reading from the terminal; Ctrl-D ends")
		}
		ops, err := answered(env.Stdin)
		if err != nil {
			return nil, exit.Usagef("stdin: %w", err)
		}
		return ops, nil
	}
	f, err := os.Open(env.Path(args[0]))
	if err != nil {
		return nil, exit.BadUsage(err)
	}
	defer f.Close()
	ops, err := answered(f)
	if err != nil {
		return nil, exit.Usagef("%s: %w", args[0], err)
	}
	return ops, nil
}

// answered reads operations as a model writes them: with words around them, or none.
func answered(r io.Reader) ([]consolidation.Op, error) {
	text, err := io.ReadAll(io.LimitReader(r, thinker.MaxAnswer+1))
	if err != nil {
		return nil, err
	}
	ops, err := consolidation.ParseOps(bytes.NewReader(text))
	if err != nil && !json.Valid(text) {
		if found, none := thinker.Answer(text); none == nil {
			return found, nil
		}
	}
	return ops, err
}

// CommittedOf says what was written.
func CommittedOf(r plans.Result) CommittedOut {
	return CommittedOut{Plan: r.ID, Status: r.Status, Changes: agentview.ChangesOf(r), Left: r.Left, Behind: r.Behind, Again: r.Again}
}

// PrintCommitted says what was written. What was left makes it a conflict.
func PrintCommitted(env *cliutil.Env, r plans.Result) error {
	out := CommittedOf(r)
	for _, url := range r.Behind {
		env.Note("%s did not take all of it; engramctl sync brings it up to date", url)
	}
	var err error
	if env.Flags.JSON {
		err = env.PrintJSON(out)
	} else {
		err = printChanges(env, out)
	}
	if err == nil && len(r.Left) > 0 {
		err = fmt.Errorf("%w: %s written, %s", client.ErrConflict, cliutil.Counted(len(out.Changes), "memory", "memories"), leftWords(r.Left))
	}
	return err
}

func printChanges(env *cliutil.Env, out CommittedOut) error {
	would := ""
	if out.Status == plans.Proposed {
		would = "would be "
	}
	err := cliutil.Each(env, out.Changes, func(c agentview.Change) string {
		line := fmt.Sprintf("%s%-12s  %s", would, c.What, c.Slug)
		if c.Note != "" {
			line += "  (" + frontmatter.OneLine(c.Note) + ")"
		}
		return cliutil.Harmless(line)
	})
	if err != nil {
		return err
	}
	switch {
	case out.Plan == "":
		env.Note("nothing was to be written")
	case out.Again:
		env.Note("%s was taken before: nothing was written now", out.Plan)
	case out.Status == plans.Proposed:
		env.Note("proposed: engramctl mind review %s", out.Plan)
	case out.Status != plans.Done:
		env.Note("%s is %s", out.Plan, out.Status)
	default:
		env.Note("%s is %s; engramctl mind undo %s takes it back", out.Plan, out.Status, out.Plan)
	}
	return nil
}

// leftWords names what was left, as the end of a sentence.
func leftWords(all []plans.Left) string {
	if len(all) == 0 {
		return ""
	}
	var words []string
	for _, l := range all {
		words = append(words, fmt.Sprintf("%s is left: %s", l.Slug, frontmatter.OneLine(l.Why)))
	}
	return "; " + strings.Join(words, "; ")
}
