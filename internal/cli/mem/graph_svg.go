package mem

import (
	"encoding/xml"
	"fmt"
	"strings"

	"engramd/nips/nipae"
)

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
