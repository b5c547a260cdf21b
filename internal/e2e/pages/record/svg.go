package main

import (
	"fmt"
	"html"
	"strings"

	"engramd/internal/e2e/pages"
)

// The picture is a terminal of so many columns; lengths are in pixels.
const (
	columns    = 104
	charWidth  = 8.4
	lineHeight = 20
	margin     = 22
	titleBar   = 36
)

// row is one line on the screen.
type row struct {
	class string // of its colour: prompt, out or bad
	text  string
}

// draw makes an SVG of a session.
func draw(steps []pages.Step) string {
	rows := screen(steps)
	width := columns*charWidth + 2*margin
	height := float64(titleBar + len(rows)*lineHeight + margin)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img" aria-label="engramctl in a terminal">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}
.prompt{fill:#7ee787}.typed{fill:#f0f6fc;font-weight:600}.out{fill:#adbac7}.bad{fill:#ffa198}
</style>
<rect width="100%%" height="100%%" rx="10" fill="#0d1117"/>
<circle cx="22" cy="19" r="6" fill="#ff5f57"/><circle cx="42" cy="19" r="6" fill="#febc2e"/><circle cx="62" cy="19" r="6" fill="#28c840"/>
`, width, height, width, height)
	for i, r := range rows {
		y := titleBar + (i+1)*lineHeight - 5
		x := float64(margin)
		text := r.text
		if r.class == "typed" && strings.HasPrefix(text, "$ ") {
			put(&b, x, y, "prompt", "$")
			x, text = x+2*charWidth, text[2:]
		}
		put(&b, x, y, r.class, text)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// put writes one text on the grid of the terminal, whatever font there is.
func put(b *strings.Builder, x float64, y int, class, text string) {
	n := len([]rune(text))
	if n == 0 {
		return
	}
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" class=\"%s\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">%s</text>\n",
		x, y, class, float64(n)*charWidth, html.EscapeString(text))
}

// screen lays a session out in rows, with an empty one between two blocks.
func screen(steps []pages.Step) []row {
	var rows []row
	for i, s := range steps {
		if i > 0 && s.Block != steps[i-1].Block {
			rows = append(rows, row{})
		}
		rows = append(rows, wrap("typed", "$ "+s.Command)...)
		if s.Output == "" {
			continue
		}
		for line := range strings.SplitSeq(s.Output, "\n") {
			class := "out"
			if strings.HasPrefix(line, "engramctl ") || strings.HasPrefix(line, `{"error"`) {
				class = "bad"
			}
			rows = append(rows, wrap(class, line)...)
		}
	}
	return rows
}

// wrap breaks a line at the terminal's edge.
func wrap(class, line string) []row {
	var rows []row
	runes := []rune(line)
	for len(runes) > columns {
		rows, runes = append(rows, row{class, string(runes[:columns])}), runes[columns:]
	}
	return append(rows, row{class, string(runes)})
}
