// Package recall answers a question from the memory: engramctl recall.
package recall

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	agentview "engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/view"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// recallOut is `recall --json`.
type recallOut struct {
	view.ViewOut
	Fit   string        `json:"fit"` // strong, weak, none
	Block string        `json:"block"`
	Hits  []recalledOut `json:"hits"`
	More  int           `json:"more"`          // fit besides, for which the block has no room
	Try   string        `json:"try,omitempty"` // may find more, where there is no hit
	// Others are left out, since they are other projects'.
	Others int `json:"other_projects,omitempty"`
	// Intentions are those that are due, or may apply to the query.
	Intentions []agentview.Coming `json:"intentions,omitempty"`
	Left       []leftOutOut       `json:"left_out,omitempty"` // with --explain
}

type leftOutOut struct {
	Slug   string `json:"slug"`
	Reason string `json:"reason"`
}

type recalledOut struct {
	view.FoundOut
	Whole bool              `json:"whole"` // in the block; else its title is
	Alike []agentview.Alike `json:"alike,omitempty"`
}

// New returns engramctl recall.
func New(env *cliutil.Env) *cobra.Command {
	var o struct {
		q              answer.Query
		explain, every bool
		wait           time.Duration
		feelings       map[string]string
		models         view.ModelFlags
	}
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "recall QUERY... [--budget BYTES] [--all-projects] [--explain] [--json]",
		Short: "Recall what is remembered on a question, as one block",
		Long: `Recall what is remembered on a question, as one block that fits a budget: the best
memories, then titles of others, 20 at most; a long memory gives its best section. They
are ranked by words in all their forms, in the languages that docs/memory.md names, by the
people, dates and times of the question, and by links. Each memory says what it is and why
it is there. Lines are quoted: behind | notes, behind > somebody else's words.

If no memory fits well, the block begins by saying so, and has the nearest (fit in JSON:
strong, weak or none).

In a folder that is linked to a project (engramctl project), memories of other projects
come only if the query names one (owner/name, its URL, or its name where that is no word
of the language), headed as that project's, or with --all-projects; how many were left out
is said.

Intentions that are due, or of which the trigger has words of the query, follow
(docs/mind.md). If nothing matches, nothing is printed, stderr says what to try, and the
exit code is 0. If relays did not answer and nothing matches, that is a failure: it may be
there. Where relays show older versions than this machine has, or none, its own are
recalled, and stderr and the block say how many; exit code 6 if nothing matches and the
texts of some are not here.

--explain names, on stderr and in JSON, what has to do with the question and was left out,
and why: its owner has it removed, its state, its trust, its project, a filter by name, the
budget, or "threshold": it fits much worse than the best. Age is none of the reasons.

Meaning is compared beside words by a matrix in the program, unless --embed none is given.
No server is asked but one that --embed-url or --rerank-url names: it compares meaning in
the matrix's place, or puts the best in order.`,
		Example: `  engramctl recall When are the boats painted?
  engramctl recall --since 'last week' --type episodic --budget 2000 what went wrong
  engramctl recall --json 'Atlas "one file"' | jq -r '.hits[].slug'`,
		Args: view.Question,
	}, func(ctx context.Context, args []string) error {
		var err error
		o.q.Text = strings.Join(args, " ")
		if o.q.Emotion, err = view.Emotions(o.feelings); err != nil {
			return err
		}
		named, err := view.OpenModels(env, o.models)
		if err != nil {
			return err
		}
		var by *session.Session
		var found session.Recalled
		err = view.WithWhole(ctx, env, o.wait, func(ctx context.Context, s *session.Session, l *session.Copy) (_ view.Seen, state answer.State, err error) {
			by, s.Models = s, named
			found, state, err = s.Recall(ctx, l, session.Question{Query: o.q, Now: time.Now(), Explain: o.explain}, o.every)
			if found.NoMeaning != nil {
				env.Note("the model for meaning fails, words alone are compared: %v", found.NoMeaning)
			}
			if found.NoOrder != nil {
				env.Note("the model that puts results in order fails: %v", found.NoOrder)
			}
			return view.Seen{Found: len(found.Hits) + found.More, Print: func(out view.ViewOut) error { return printRecalled(env, found, out) }}, state, err
		})
		if err == nil { // it is printed
			by.CountRecalled(ctx, found.Hits)
		}
		return err
	}))
	view.WaitFlag(c, &o.wait)
	c.Flags().BoolVar(&o.explain, "explain", false, "name what was left out, and why")
	view.AllProjectsFlag(c, &o.every)
	c.Flags().IntVar(&o.q.Budget, "budget", recall.DefaultBudget, "how many `BYTES` the block may have, 400 to 65536")
	c.Flags().StringToStringVar(&o.feelings, "emotion", nil, "favour what felt alike, for example `joy=0.8`")
	c.Flags().BoolVar(&env.Flags.Strict, "strict", false, "a partial answer is a failure (exit code 4, nothing on stdout)")
	view.FilterFlags(c, &o.q)
	o.models.Add(c)
	return c
}

// ours names the commands that do what tools do.
var ours = strings.NewReplacer("memory_search", "engramctl mem search", "memory_list", "engramctl mem ls")

func printRecalled(env *cliutil.Env, found session.Recalled, out view.ViewOut) error {
	coming := found.Coming[:min(len(found.Coming), maxComing)]
	switch {
	case len(found.Hits)+found.More == 0:
		env.Note("no matches; try %s", ours.Replace(found.Try))
	case found.Try != "":
		env.Note("try %s", found.Try)
	}
	view.NoteOthers(env, found.Others)
	if !env.Flags.JSON {
		for _, l := range found.Left {
			env.Note("left out: %s: %s", cliutil.Harmless(frontmatter.OneLine(l.Slug)), l.Reason)
		}
		return env.PrintText(strings.Join(slices.DeleteFunc([]string{found.Block, linesOf(coming)}, func(s string) bool { return s == "" }), "\n"))
	}
	all := recallOut{Intentions: agentview.ComingOf(coming, strings.Clone), ViewOut: out, Fit: found.Fit.String(), Block: found.Block, Hits: []recalledOut{}, More: found.More, Try: ours.Replace(found.Try), Others: found.Others}
	for _, h := range found.Hits {
		all.Hits = append(all.Hits, recalledOut{FoundOut: view.FoundOf(h), Whole: h.Whole, Alike: agentview.AlikeOf(h)})
	}
	for _, l := range found.Left {
		all.Left = append(all.Left, leftOutOut{l.Slug, l.Reason})
	}
	return env.PrintJSON(all)
}

// maxComing is how many intentions come with one answer.
const maxComing = 5

// linesOf is the same for people and models.
func linesOf(items []intentions.Item) string {
	if len(items) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("## intentions (what you meant to do)\n")
	for _, i := range items {
		out.WriteString(i.Line())
	}
	return out.String()
}
