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
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/view"
	"engramd/internal/memory/recall/answer"
)

// statsOut is `mem stats --json`.
type statsOut struct {
	view.ViewOut
	Memories   int               `json:"memories"` // with the core
	Bytes      int               `json:"bytes"`
	Core       bool              `json:"core"`
	ByType     map[string]int    `json:"by_type"`
	ByState    map[string]int    `json:"by_state"`
	ByTrust    map[string]int    `json:"by_trust"`
	Oldest     *cliutil.EntryOut `json:"oldest,omitempty"`
	Newest     *cliutil.EntryOut `json:"newest,omitempty"`
	Largest    *cliutil.EntryOut `json:"largest,omitempty"`
	NeverUsed  *int              `json:"never_used,omitempty"` // on this machine, where that is counted
	Unread     *int              `json:"unread,omitempty"`
	Unreadable int               `json:"unreadable"`
}

// barWidth is how long the longest bar of a picture is.
const barWidth = 40

func memStatsCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	var wait time.Duration
	c := env.Command(&cobra.Command{
		Use:   "stats [--json]",
		Short: "Count memories by type, state and trust",
		Long: `Count memories by type, state and trust: their size, which were written longest ago
and last, the largest, how many cannot be read, and how many were never recalled or
read on this machine (by recall and over MCP). On a terminal with bars.`,
		Example: `  engramctl mem stats
  engramctl mem stats --json | jq .by_type`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		var uses map[string]answer.Use
		prepare := func(ctx context.Context, s *session.Session) { uses = s.Uses(ctx) }
		return view.WithPrepared(ctx, env, wait, prepare, func(v answer.View) (view.Seen, error) {
			s := answer.Count(v, uses)
			return view.Seen{Found: s.Memories, Print: func(out view.ViewOut) error {
				if asJSON {
					return env.PrintJSON(statsOf(s, out))
				}
				return env.Print("%s", statsText(s, env.Terminal.Stdout))
			}}, nil
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	view.WaitFlag(c, &wait)
	return c
}

func statsOf(s answer.Stats, out view.ViewOut) statsOut {
	entry := func(h *answer.Head) *cliutil.EntryOut {
		if h == nil {
			return nil
		}
		return &cliutil.EntryOut{Slug: h.Slug, Size: h.Size, CreatedAt: h.UpdatedAt, Time: cliutil.Stamp(h.UpdatedAt)}
	}
	all := statsOut{ViewOut: out, Memories: s.Memories, Bytes: s.Bytes, Core: s.Core, ByType: s.ByType, ByState: s.ByState, ByTrust: s.ByTrust,
		Oldest: entry(s.Oldest), Newest: entry(s.Newest), Largest: entry(s.Largest), Unreadable: s.State.Unreadable}
	if s.Counted {
		all.NeverUsed, all.Unread = &s.NeverUsed, &s.Unread
	}
	return all
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
