package mem

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
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

// statsOut is `mem stats --json`.
type statsOut struct {
	view.ViewOut
	agentview.Stats[cliutil.EntryOut]
}

// barWidth is how long the longest bar of a picture is.
const barWidth = 40

func statsCommand(env *cliutil.Env) *cobra.Command {
	var wait time.Duration
	c := env.Command(&cobra.Command{
		Use:   "stats [--json]",
		Short: "Count memories by type, state and trust",
		Long: `Count memories by type, state and trust: their size, which were written longest ago
and last, the largest, how many cannot be read, and how many were never recalled or
read on this machine (by recall and over MCP). On a terminal with bars.`,
		Example: `  engramctl mem stats
  engramctl mem stats --json | jq .by_type`,
	}, func(ctx context.Context, _ []string) error {
		var uses map[string]answer.Use
		prepare := func(ctx context.Context, s *session.Session) { uses = s.Uses(ctx) }
		return view.WithPrepared(ctx, env, wait, prepare, func(v answer.View) (view.Seen, error) {
			s := answer.Count(v, uses, "")
			return view.Seen{Found: s.Memories, Print: func(out view.ViewOut) error {
				return env.Show(statsOut{out, agentview.StatsOf(s, func(h answer.Head) cliutil.EntryOut {
					return cliutil.EntryOut{Slug: h.Slug, Size: h.Size, CreatedAt: h.UpdatedAt, Time: cliutil.Stamp(h.UpdatedAt)}
				})}, "%s", statsText(s, env.Terminal.Stdout))
			}}, nil
		})
	})
	view.WaitFlag(c, &wait)
	return c
}

func statsText(s answer.Stats, bars bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d bytes", cliutil.Counted(s.Memories, "memory", "memories"), s.Bytes)
	if s.Core {
		b.WriteString(", the core among them")
	}
	b.WriteByte('\n')
	for _, part := range []struct {
		name string
		of   map[string]int
	}{{"type", s.ByType}, {"state", s.ByState}, {"trust", s.ByTrust}} {
		if len(part.of) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\nby %s\n", part.name)
		names := slices.SortedFunc(maps.Keys(part.of), func(x, y string) int {
			return cmp.Or(cmp.Compare(part.of[y], part.of[x]), strings.Compare(x, y))
		})
		for _, name := range names {
			line := fmt.Sprintf("  %-11s %6d", name, part.of[name])
			if bars {
				line += "  " + bar(part.of[name], s.Memories)
			}
			b.WriteString(line + "\n")
		}
	}
	b.WriteByte('\n')
	if s.Counted {
		fmt.Fprintf(&b, "never used  %d, unread %d (on this machine)\n", s.NeverUsed, s.Unread)
	}
	for _, of := range []struct {
		name string
		head *answer.Head
	}{{"oldest", s.Oldest}, {"newest", s.Newest}, {"largest", s.Largest}} {
		if of.head != nil {
			fmt.Fprintf(&b, "%-7s %s  %d B  %s\n", of.name, cliutil.Stamp(of.head.UpdatedAt), of.head.Size, of.head.Slug)
		}
	}
	return b.String()
}

// bar is a number as a bar; what is more than nothing has one.
func bar(n, most int) string {
	if n <= 0 || most <= 0 {
		return ""
	}
	return strings.Repeat("█", max(1, n*barWidth/most))
}

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

func timelineCommand(env *cliutil.Env) *cobra.Command {
	var o struct {
		q    answer.Query
		wait time.Duration
	}
	c := env.Command(&cobra.Command{
		Use:   "timeline [--since TIME] [--until TIME] [--json]",
		Short: "Draw when memories are of, by month or day",
		Long: `Draw when memories are of, as text: a bar for each month, or for each day with the
slugs if --since and --until name two months or less. A memory is of the time that
it says itself (when), else of its writing.`,
		Example: `  engramctl mem timeline
  engramctl mem timeline --since 'May 2026' --until 'May 2026'
  engramctl mem timeline --type episodic --json`,
	}, func(ctx context.Context, _ []string) error {
		return view.WithView(ctx, env, o.wait, func(v answer.View) (view.Seen, error) {
			spans, err := answer.Timeline(v, o.q, time.Now())
			if err != nil {
				return view.Seen{}, err
			}
			return view.Seen{Found: len(spans), Print: func(out view.ViewOut) error {
				if env.Flags.JSON {
					return env.PrintJSON(timelineOf(spans, out))
				}
				if len(spans) == 0 {
					env.Note("no memory is of that time")
				}
				return env.Print("%s", timelineText(spans))
			}}, nil
		})
	})
	view.WaitFlag(c, &o.wait)
	view.FilterFlags(c, &o.q)
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
		o.q.Text = strings.Join(args, " ")
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
		fmt.Fprintf(&b, "%s%s: %s\n", h.Slug, unsent(h.Head.Unsent), h.Title)
		for _, s := range h.Snippets {
			fmt.Fprintf(&b, "    %s\n", s.Text)
		}
	}
	return env.PrintText(b.String())
}
