package report

import (
	"fmt"
	"html"
	"strings"
)

// svg is a picture that is being drawn. Its colours follow the reader's light
// or dark scheme; it has a ground of its own, so that it can be read on any
// page.
type svg struct {
	width, height int
	body          strings.Builder
}

// seriesColours are the servers' in the order of the configuration, for light
// and for dark ground. They differ in lightness too.
var seriesColours = [][2]string{
	{"#0969da", "#58a6ff"}, // blue: the subject
	{"#6e7781", "#9aa4af"}, // grey
	{"#bc4c00", "#f0883e"}, // orange
	{"#8250df", "#bc8cff"}, // purple
	{"#1a7f37", "#3fb950"}, // green
	{"#bf3989", "#f778ba"}, // pink
}

const style = `text{font:13px ui-sans-serif,system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;fill:#1f2328}
.ground{fill:#fff;stroke:#d1d9e0}.title{font-size:15px;font-weight:600}.muted{fill:#59636e}.small{font-size:11px}.halo{paint-order:stroke;stroke:#fff;stroke-width:4px}.bad{fill:#b3261e}
.grid{stroke:#e3e7eb;stroke-width:1}.axis{stroke:#afb8c1;stroke-width:1}.target{stroke:#1f2328;stroke-width:1.5;stroke-dasharray:4 3}
.whisker{stroke:#1f2328;stroke-width:1.2;opacity:.55}.line{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}`

const darkStyle = `text{fill:#e6edf3}.ground{fill:#0d1117;stroke:#30363d}.muted{fill:#9198a1}.bad{fill:#ff8a80}.halo{stroke:#0d1117}
.grid{stroke:#21262d}.axis{stroke:#484f58}.target{stroke:#e6edf3}.whisker{stroke:#e6edf3}`

// String returns the whole document.
func (s *svg) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n<style>\n%s\n", s.width, s.height, s.width, s.height, style)
	for i, c := range seriesColours {
		fmt.Fprintf(&b, ".f%d{fill:%s}.s%d{stroke:%s}\n", i, c[0], i, c[0])
	}
	fmt.Fprintf(&b, "@media (prefers-color-scheme:dark){\n%s\n", darkStyle)
	for i, c := range seriesColours {
		fmt.Fprintf(&b, ".f%d{fill:%s}.s%d{stroke:%s}\n", i, c[1], i, c[1])
	}
	fmt.Fprintf(&b, "}\n</style>\n"+`<rect class="ground" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`+"\n", s.width-1, s.height-1)
	b.WriteString(s.body.String())
	b.WriteString("</svg>\n")
	return b.String()
}

// text writes at a baseline; anchor is start, middle or end.
func (s *svg) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(&s.body, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

func (s *svg) line(x1, y1, x2, y2 float64, class string) {
	fmt.Fprintf(&s.body, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" class="%s"/>`+"\n", x1, y1, x2, y2, class)
}

func (s *svg) rect(x, y, width, height float64, class string) {
	fmt.Fprintf(&s.body, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="2" class="%s"/>`+"\n", x, y, width, height, class)
}

func (s *svg) circle(x, y, r float64, class string) {
	fmt.Fprintf(&s.body, `<circle cx="%.1f" cy="%.1f" r="%.1f" class="%s"/>`+"\n", x, y, r, class)
}

func (s *svg) polyline(points [][2]float64, class string) {
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "%.1f,%.1f ", p[0], p[1])
	}
	fmt.Fprintf(&s.body, `<polyline points="%s" class="%s"/>`+"\n", strings.TrimSpace(b.String()), class)
}

// series returns the class of a server's colour: prefix f fills, s strokes.
func series(prefix string, i int) string {
	return fmt.Sprintf("%s%d", prefix, i%len(seriesColours))
}
