package mem

import (
	"context"
	"encoding/xml"
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

// graphOptions are the flags of mem graph.
type graphOptions struct {
	format   string
	dot, svg bool
}

func graphCommand(env *cliutil.Env) *cobra.Command {
	var o graphOptions
	c := env.Command(&cobra.Command{
		Use:   "graph [--format text|json|dot|svg | --dot | --svg]",
		Short: "Show how memories refer to each other",
		Long: `Show how memories refer to each other: a text refers to another with [[mem/notes]].
Orphans are memories that core does not lead to; missing are those that a text
refers to and that do not exist. Nothing is ever removed because of it.`,
		Example: `  engramctl mem graph
  engramctl mem graph --svg > memory.svg
  engramctl mem graph --dot | dot -Tpng > memory.png`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		switch {
		case o.dot && o.svg, (o.dot || o.svg) && o.format != "text":
			return exit.Usagef("--dot, --svg and --format are one choice")
		case o.dot:
			o.format = "dot"
		case o.svg:
			o.format = "svg"
		}
		render, ok := map[string]func(*session.Memory, nipae.Graph, client.Status) error{
			"text": func(_ *session.Memory, g nipae.Graph, _ client.Status) error { return env.Print("%s", graphText(g)) },
			"json": func(m *session.Memory, g nipae.Graph, s client.Status) error { return env.PrintJSON(graphOut(m, g, s)) },
			"dot":  func(_ *session.Memory, g nipae.Graph, _ client.Status) error { return env.Print("%s", graphDot(g)) },
			"svg":  func(_ *session.Memory, g nipae.Graph, _ client.Status) error { return env.Print("%s", graphSVG(g)) },
		}[o.format]
		if !ok {
			return exit.Usagef("--format: %q is none of text, json, dot, svg", o.format)
		}
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			g, status, err := m.Graph(ctx)
			if err := env.Report(status, err); err != nil {
				return err
			}
			return render(m, g, status)
		})
	})
	cliutil.FormatFlag(c, &o.format, "text", "json", "dot", "svg")
	c.Flags().BoolVar(&o.dot, "dot", false, "for Graphviz: --format dot")
	c.Flags().BoolVar(&o.svg, "svg", false, "a picture: --format svg")
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

// Sizes of the picture, in pixels.
const (
	boxWidth, boxHeight = 220, 24
	columnWidth         = boxWidth + 90
	rowHeight           = boxHeight + 14
	margin              = 20
	// labelled is how many characters of a slug stand in its box.
	labelled = 30
)

// place is where a box stands.
type place struct{ x, y int }

// graphSVG draws the graph: a column for each step from core, in the order of
// slugs, then what nothing leads to, then what is missing. The same graph is the
// same picture.
func graphSVG(g nipae.Graph) string {
	columns, orphans := 0, false
	for _, n := range g.Nodes {
		columns = max(columns, n.Depth+1)
		orphans = orphans || n.Depth < 0
	}
	at := map[nipae.Slug]place{}
	rows := map[int]int{}
	most := 0
	put := func(slug nipae.Slug, column int) place {
		p := place{margin + column*columnWidth, margin + rows[column]*rowHeight}
		rows[column]++
		most = max(most, rows[column])
		at[slug] = p
		return p
	}
	var boxes, lines strings.Builder
	for _, n := range g.Nodes {
		column, style := n.Depth, "fill=\"#eef3fb\" stroke=\"#4a6fa5\""
		switch {
		case n.Slug.IsCore():
			style = "fill=\"#dbe7f7\" stroke=\"#1f4e8c\" stroke-width=\"2\""
		case n.Depth < 0:
			column, style = columns, "fill=\"#f6f6f6\" stroke=\"#888\" stroke-dasharray=\"4 3\""
		}
		box(&boxes, put(n.Slug, column), n.Slug, style)
	}
	if orphans {
		columns++
	}
	for _, r := range g.Dangling {
		if _, ok := at[r.To]; !ok {
			box(&boxes, put(r.To, columns), r.To, "fill=\"#fff\" stroke=\"#b03030\" stroke-dasharray=\"2 3\"")
		}
	}
	for _, n := range g.Nodes {
		for _, to := range n.To {
			line(&lines, at[n.Slug], at[to])
		}
	}
	width, height := 2*margin+max(1, len(rows))*columnWidth-(columnWidth-boxWidth), 2*margin+max(1, most)*rowHeight
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">
<defs><marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>
<rect width="100%%" height="100%%" fill="#fff"/>
%s%s</svg>
`, width, height, width, height, lines.String(), boxes.String())
}

func box(b *strings.Builder, p place, slug nipae.Slug, style string) {
	label := []rune(string(slug))
	if len(label) > labelled {
		label = append(label[:labelled-1], '…')
	}
	fmt.Fprintf(b, "<g><title>%s</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" %s/><text x=\"%d\" y=\"%d\">%s</text></g>\n",
		escaped(string(slug)), p.x, p.y, boxWidth, boxHeight, style, p.x+8, p.y+16, escaped(string(label)))
}

// line leads from the right of one box to the left of another, or around where
// that stands further left.
func line(b *strings.Builder, from, to place) {
	x1, y1, x2, y2 := from.x+boxWidth, from.y+boxHeight/2, to.x, to.y+boxHeight/2
	bend := 40
	if to.x <= from.x {
		bend = 80
	}
	fmt.Fprintf(b, "<path d=\"M%d %dC%d %d %d %d %d %d\" fill=\"none\" stroke=\"#999\" marker-end=\"url(#to)\"/>\n", x1, y1, x1+bend, y1, x2-bend, y2, x2, y2)
}

// escaped is a text as it may stand in XML.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a strings.Builder takes everything
	return b.String()
}
