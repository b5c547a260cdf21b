package mem

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	agentview "engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/view"
	"engramd/internal/memory/recall/answer"
)

// searchOut is `mem search --json`.
type searchOut struct {
	view.ViewOut
	Hits     []hitOut `json:"hits"`
	Total    int      `json:"total"`                    // have one of the words
	Searched int      `json:"searched"`                 // were looked through
	Others   int      `json:"other_projects,omitempty"` // have one, and are left out
}

type hitOut struct {
	view.FoundOut
	Snippets []agentview.Snippet `json:"snippets"`
}

func searchCommand(env *cliutil.Env) *cobra.Command {
	var o struct {
		q     answer.Query
		every bool
		wait  time.Duration
		limit int
	}
	c := env.Command(&cobra.Command{
		Use:   "search QUERY... [--limit N] [--all-projects] [--json]",
		Short: "Find memories by their words",
		Long: `Find memories by their words: in all their forms, mistyped, or as parts of words, in
texts and slugs. "Exact phrases" stand in double quotes. One word is enough to be
found; most and rarest come first, with the text around what was found.
In a folder that is linked to a project, memories of other projects are left out as in
engramctl recall. To get an answer to a question, use that.`,
		Example: `  engramctl mem search coffee
  engramctl mem search --tag boats --since 2026 '"blue paint"'`,
		Args: view.Question,
	}, func(ctx context.Context, args []string) error {
		if o.limit < 1 || o.limit > answer.MaxHits {
			return exit.Usagef("--limit is %d; it must be from 1 to %d", o.limit, answer.MaxHits)
		}
		o.q.Text = view.QueryOf(args)
		return view.WithPrepared(ctx, env, o.wait, func(ctx context.Context, s *session.Session) {
			o.q.Scope = s.Place.Scope(ctx, o.every)
		}, func(v answer.View) (view.Seen, error) {
			found, err := answer.Search(v, o.q, o.limit, time.Now())
			if err != nil {
				return view.Seen{}, err
			}
			return view.Seen{Found: found.Total, Print: func(out view.ViewOut) error { return printFound(env, found, out) }}, nil
		})
	})
	view.WaitFlag(c, &o.wait)
	view.AllProjectsFlag(c, &o.every)
	c.Flags().IntVar(&o.limit, "limit", answer.DefaultHits, "how many memories at most, 1 to 50")
	view.FilterFlags(c, &o.q)
	return c
}

func printFound(env *cliutil.Env, found answer.Found, out view.ViewOut) error {
	switch more := found.Total - len(found.Hits); {
	case found.Total == 0:
		env.Note("none of %s has one of the words", cliutil.Counted(found.Searched, "memory", "memories"))
	case more > 0:
		env.Note("%d more have one of the words (--limit)", more)
	}
	view.NoteOthers(env, found.Others)
	if env.Flags.JSON {
		all := searchOut{ViewOut: out, Hits: []hitOut{}, Total: found.Total, Searched: found.Searched, Others: found.Others}
		for _, h := range found.Hits {
			all.Hits = append(all.Hits, hitOut{view.FoundOf(h.Hit), agentview.SnippetsOf(h.Snippets)})
		}
		return env.PrintJSON(all)
	}
	var b strings.Builder
	for _, h := range found.Hits {
		fmt.Fprintf(&b, "%s: %s\n", h.Slug, h.Title)
		for _, s := range h.Snippets {
			fmt.Fprintf(&b, "    %s\n", s.Text)
		}
	}
	return env.PrintText(b.String())
}
