package mem

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

// nodeOut is one record of `mem graph --format json`.
type nodeOut struct {
	Slug  string   `json:"slug"`
	To    []string `json:"to"`
	From  []string `json:"from"`
	Depth int      `json:"depth"` // references from core; -1 for an orphan
}

type edgeOut struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func graphCommand(env *cliutil.Env) *cobra.Command {
	var format string
	var dot bool
	c := env.Command(&cobra.Command{
		Use:   "graph [--format text|json|dot | --dot]",
		Short: "Show how memories refer to each other",
		Long: `Show how memories refer to each other: a text refers to another with [[mem/notes]].
Orphans are memories that core does not lead to; missing are those that a text
refers to and that do not exist. Nothing is ever removed because of it.`,
		Example: `  engramctl mem graph
  engramctl mem graph --dot | dot -Tsvg > memory.svg`,
	}, func(ctx context.Context, _ []string) error {
		switch {
		case dot && format != "text":
			return exit.Usagef("--dot and --format are one choice")
		case dot:
			format = "dot"
		case format != "text" && format != "json" && format != "dot":
			return exit.Usagef("--format: %q is none of text, json, dot", format)
		}
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			g, status, err := m.Graph(ctx)
			if err := env.Report(status, err); err != nil {
				return err
			}
			switch format {
			case "json":
				return env.PrintJSON(graphOut(m, g, status))
			case "dot":
				return env.Print("%s", graphDot(g))
			}
			return env.Print("%s", graphText(g))
		})
	})
	cliutil.FormatFlag(c, &format, "text", "json", "dot")
	c.Flags().BoolVar(&dot, "dot", false, "for Graphviz: --format dot")
	return c
}

func graphText(g nipae.Graph) string {
	var b strings.Builder
	for _, n := range g.Nodes {
		b.WriteString(string(n.Slug))
		if len(n.To) > 0 {
			b.WriteString(" -> " + strings.Join(slugTexts(n.To), ", "))
		}
		b.WriteByte('\n')
	}
	if len(g.Orphans) > 0 {
		b.WriteString("\norphans:\n")
		for _, s := range g.Orphans {
			fmt.Fprintf(&b, "  %s\n", s)
		}
	}
	if len(g.Dangling) > 0 {
		b.WriteString("\nmissing:\n")
		for _, r := range g.Dangling {
			fmt.Fprintf(&b, "  %s -> %s\n", r.From, r.To)
		}
	}
	return b.String()
}

// graphDot returns the graph for Graphviz. Slugs hold nothing that needs an
// escape between quotes.
func graphDot(g nipae.Graph) string {
	var b strings.Builder
	b.WriteString("digraph memory {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	for _, n := range g.Nodes {
		style := ""
		switch {
		case n.Slug.IsCore():
			style = " [style=bold]"
		case n.Depth < 0:
			style = " [style=dashed, tooltip=\"orphan\"]"
		}
		fmt.Fprintf(&b, "  \"%s\"%s;\n", n.Slug, style)
	}
	missing := map[nipae.Slug]bool{}
	for _, r := range g.Dangling {
		if !missing[r.To] {
			missing[r.To] = true
			fmt.Fprintf(&b, "  \"%s\" [style=dotted, color=red, tooltip=\"missing\"];\n", r.To)
		}
	}
	for _, n := range g.Nodes {
		for _, to := range n.To {
			fmt.Fprintf(&b, "  \"%s\" -> \"%s\";\n", n.Slug, to)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

func graphOut(m *session.Memory, g nipae.Graph, s client.Status) any {
	nodes, missing := []nodeOut{}, []edgeOut{}
	for _, n := range g.Nodes {
		nodes = append(nodes, nodeOut{string(n.Slug), slugTexts(n.To), slugTexts(n.From), n.Depth})
	}
	for _, r := range g.Dangling {
		missing = append(missing, edgeOut{string(r.From), string(r.To)})
	}
	return struct {
		cliutil.AnswerOut
		Nodes   []nodeOut `json:"nodes"`
		Orphans []string  `json:"orphans"`
		Missing []edgeOut `json:"missing"`
	}{cliutil.AnswerOf(m, s), nodes, slugTexts(g.Orphans), missing}
}

func slugTexts(slugs []nipae.Slug) []string {
	out := make([]string, 0, len(slugs))
	for _, s := range slugs {
		out = append(out, string(s))
	}
	return out
}
