package mem

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/view"
	"engramd/internal/memory/recall/answer"
)

// timelineOut is `mem timeline --json`.
type timelineOut struct {
	view.ViewOut
	Spans []spanOut `json:"spans"` // months or days, oldest first
}

type spanOut struct {
	Name     string     `json:"name"` // 2026-11 or 2026-11-20
	Memories []datedOut `json:"memories"`
}

type datedOut struct {
	Slug string `json:"slug"`
	Type string `json:"type"`
	When string `json:"when"`
}

// maxNamed is how many memories of a day are named.
const maxNamed = 5

func memTimelineCommand(env *cliutil.Env) *cobra.Command {
	var q answer.Query
	var asJSON bool
	var wait time.Duration
	c := env.Command(&cobra.Command{
		Use:   "timeline [--since TIME] [--until TIME] [--json]",
		Short: "Draw when memories are of, by month or day",
		Long: `Draw when memories are of, as text: a bar for each month, or for each day with the
slugs if --since and --until name two months or less. A memory is of the time that
it says itself (when), else of its writing.`,
		Example: `  engramctl mem timeline
  engramctl mem timeline --since 'May 2026' --until 'May 2026'
  engramctl mem timeline --type episodic --json`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		return view.WithView(ctx, env, wait, func(v answer.View) (view.Seen, error) {
			spans, err := answer.Timeline(v, q, time.Now())
			if err != nil {
				return view.Seen{}, err
			}
			return view.Seen{Found: len(spans), Print: func(out view.ViewOut) error {
				if asJSON {
					return env.PrintJSON(timelineOf(spans, out))
				}
				if len(spans) == 0 {
					env.Note("no memory is of that time")
				}
				return env.Print("%s", timelineText(spans))
			}}, nil
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	view.WaitFlag(c, &wait)
	view.FilterFlags(c, &q)
	return c
}

func timelineOf(spans []answer.Span, out view.ViewOut) timelineOut {
	all := timelineOut{ViewOut: out, Spans: []spanOut{}}
	for _, s := range spans {
		span := spanOut{Name: s.Name, Memories: []datedOut{}}
		for _, m := range s.Memories {
			span.Memories = append(span.Memories, datedOut{m.Slug, m.Type, m.When.Format(time.RFC3339)})
		}
		all.Spans = append(all.Spans, span)
	}
	return all
}

func timelineText(spans []answer.Span) string {
	most := 0
	for _, s := range spans {
		most = max(most, len(s.Memories))
	}
	var b strings.Builder
	for _, s := range spans {
		fmt.Fprintf(&b, "%s %5d  %s\n", s.Name, len(s.Memories), bar(len(s.Memories), most))
		if len(s.Name) < len(time.DateOnly) {
			continue
		}
		for _, m := range s.Memories[:min(maxNamed, len(s.Memories))] {
			fmt.Fprintf(&b, "    %s\n", m.Slug)
		}
		if more := len(s.Memories) - maxNamed; more > 0 {
			fmt.Fprintf(&b, "    and %d more\n", more)
		}
	}
	return b.String()
}
