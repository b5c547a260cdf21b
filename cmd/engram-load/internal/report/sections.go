package report

import (
	"fmt"
	"slices"
	"strings"

	"engramd/cmd/engram-load/internal/bench"
)

// section is all about one measure; nothing if it was not measured.
func (p *page) section(m *bench.Measure) {
	sizes := p.measured(m.Name)
	if len(sizes) == 0 {
		return
	}
	p.printf("\n## %s\n\n%s\n", m.Title, strings.TrimSpace(m.About))
	shown := p.sizeOf(m.Name, 0)
	title := m.Title
	if shown > 0 {
		title += ", " + power(shown) + " events stored"
	}
	p.plot(m.Name, drawBars(title, p.panels(m, shown)), title)
	if curves := p.curves(m, sizes); len(curves) > 0 {
		f := m.Curve
		title := m.Title + ": cost against size"
		p.plot(m.Name+"-size", drawCurve(title, f.Label, f.Unit, f.Better, curves), title)
	}
	p.table(m, sizes)
	p.failures(m, sizes)
	if note := p.notes[m.Name]; note != "" {
		p.printf("\n%s\n", note)
	}
}

func (p *page) plot(name, drawing, title string) {
	p.plots[name+".svg"] = drawing
	p.printf("\n![%s](%s/%s.svg)\n", title, p.folder, name)
}

// panels returns the bars of one size.
func (p *page) panels(m *bench.Measure, size int) []panel {
	var all []panel
	for _, f := range m.Bars {
		one := panel{label: f.Label, unit: f.Unit, better: f.Better, target: p.targetAt(m, f, size)}
		base, hasBase := p.cells[place{m.Name, p.results.Config.Base, size}].figure(f.Name)
		for i, s := range p.results.Config.Servers {
			c := p.cells[place{m.Name, s.Name, size}]
			if c == nil {
				continue
			}
			b := bar{name: s.Name, series: i}
			b.spread, b.known = c.figure(f.Name)
			switch {
			case b.known && hasBase && base.median > 0 && s.Name != p.results.Config.Base:
				b.note = number(b.spread.median/base.median) + " ×"
			case b.known:
			case len(c.failures) > 0:
				b.note, b.bad = c.failed(), true
			case c.without != "":
				b.note = "not measured"
			default:
				b.note = "no figure"
			}
			one.bars = append(one.bars, b)
		}
		all = append(all, one)
	}
	return all
}

// targetAt returns where a target for this figure lies, in its unit; 0 if there
// is none. What it is a ratio of must be known.
func (p *page) targetAt(m *bench.Measure, f bench.Figure, size int) float64 {
	for _, t := range p.results.Config.Targets {
		if t.Measure != m.Name || t.Figure != f.Name || p.sizeOf(m.Name, t.Size) != size {
			continue
		}
		bound := verdict{target: t}.bound()
		if t.Of == nil {
			return bound
		}
		of := basis(t, p.results.Config.Subject)
		base, ok := p.cells[place{of.Measure, of.Server, p.sizeOf(of.Measure, of.Size)}].figure(of.Figure)
		if ok {
			return bound * base.median
		}
	}
	return 0
}

// curves returns the servers with figures at two sizes at least.
func (p *page) curves(m *bench.Measure, sizes []int) []curve {
	if m.Curve == nil || len(sizes) < 2 {
		return nil
	}
	var all []curve
	for i, s := range p.results.Config.Servers {
		c := curve{name: s.Name, series: i}
		for _, size := range sizes {
			if cost, ok := p.cells[place{m.Name, s.Name, size}].figure(m.Curve.Name); ok && cost.min > 0 {
				c.points = append(c.points, point{size, cost})
			}
		}
		if len(c.points) > 0 {
			all = append(all, c)
		}
	}
	if !slices.ContainsFunc(all, func(c curve) bool { return len(c.points) > 1 }) {
		return nil
	}
	return all
}

// cpuFigure and memoryFigure are shown of every measure that has them.
const (
	cpuFigure    = "cpu_us_per_op"
	memoryFigure = "rss_kib_peak"
)

// table is one row for each server and size.
func (p *page) table(m *bench.Measure, sizes []int) {
	columns := slices.Clone(m.Bars)
	if m.Curve != nil && !slices.ContainsFunc(columns, func(f bench.Figure) bool { return f.Name == m.Curve.Name }) {
		columns = append(columns, *m.Curve)
	}
	for _, f := range []bench.Figure{{Name: cpuFigure, Label: "server CPU for one", Unit: "µs"}, {Name: memoryFigure, Label: "peak memory", Unit: "KiB"}} {
		if !slices.ContainsFunc(columns, func(c bench.Figure) bool { return c.Name == f.Name }) {
			columns = append(columns, f)
		}
	}
	bySize := sizes[0] > 0
	head, rule := "\n| server |", "|---|"
	if bySize {
		head, rule = "\n| events stored | server |", "|--:|---|"
	}
	for i, f := range columns {
		head, rule = head+" "+heading(f.Label, f.Unit, "")+" |", rule+"--:|"
		if i == 0 {
			head, rule = head+" ratio |", rule+"--:|"
		}
	}
	p.printf("%s runs |\n%s--:|\n", head, rule)
	for _, size := range sizes {
		for _, s := range p.results.Config.Servers {
			c := p.cells[place{m.Name, s.Name, size}]
			if c == nil {
				continue
			}
			row := "|"
			if bySize {
				row += " " + power(size) + " |"
			}
			p.printf("%s %s |%s\n", row, s.Name, p.row(m, c, columns, size))
		}
	}
}

// row returns what follows the server's name.
func (p *page) row(m *bench.Measure, c *cell, columns []bench.Figure, size int) string {
	switch {
	case c.without != "":
		return " not measured |" + strings.Repeat(" |", len(columns)+1)
	case len(c.failures) > 0:
		return " **" + c.failed() + "** |" + strings.Repeat(" |", len(columns)+1)
	}
	row := ""
	for i, f := range columns {
		s, ok := c.figure(f.Name)
		if ok {
			row += " " + plainRange(s) + " |"
		} else {
			row += " |"
		}
		if i > 0 {
			continue
		}
		base, hasBase := p.cells[place{m.Name, p.results.Config.Base, size}].figure(f.Name)
		if ok && hasBase && base.median > 0 {
			row += " " + number(s.median/base.median) + " × |"
		} else {
			row += " |"
		}
	}
	return fmt.Sprintf("%s %d × %s |", row, len(c.rounds), whole(int64(c.count)))
}

// plainRange returns a spread whose unit the heading has.
func plainRange(s spread) string {
	if s.min == s.max {
		return number(s.median)
	}
	return number(s.median) + " <sub>" + number(s.min) + "–" + number(s.max) + "</sub>"
}

// failures says of each server without a figure why.
func (p *page) failures(m *bench.Measure, sizes []int) {
	var lines []string
	for _, size := range sizes {
		for _, s := range p.results.Config.Servers {
			c := p.cells[place{m.Name, s.Name, size}]
			if c == nil || c.without == "" && len(c.failures) == 0 {
				continue
			}
			why := "not measured: " + c.without
			if len(c.failures) > 0 {
				first, _, _ := strings.Cut(c.failures[0], "\n")
				why = c.failed() + ": " + first
			}
			line := fmt.Sprintf("- %s: %s\n", s.Name, why)
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	if len(lines) > 0 {
		p.printf("\n%s", strings.Join(lines, ""))
	}
}
