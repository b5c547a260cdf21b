package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// curve is one server's cost at several sizes.
type curve struct {
	name   string
	series int
	points []point // by size, at least one
}

type point struct {
	size int
	cost spread
}

// Measures of a picture with curves, in pixels.
const (
	curveWidth  = 760
	curveHeight = 400
	plotLeft    = 88
	plotRight   = 620 // after it come the names
	plotTop     = 72
	plotBottom  = 340
	labelGap    = 17 // between names at the right
)

// axes maps sizes and costs to the picture, both as logarithms.
type axes struct{ minX, maxX, minY, maxY float64 }

func (a axes) x(size int) float64 {
	if a.maxX == a.minX {
		return (plotLeft + plotRight) / 2
	}
	return plotLeft + 24 + (math.Log10(float64(size))-a.minX)/(a.maxX-a.minX)*(plotRight-plotLeft-48)
}

func (a axes) y(cost float64) float64 {
	return plotBottom - (math.Log10(cost)-a.minY)/(a.maxY-a.minY)*(plotBottom-plotTop)
}

// drawCurve draws cost against size. There must be a curve.
func drawCurve(title, label, unit, better string, curves []curve) string {
	s := &svg{width: curveWidth, height: curveHeight}
	s.text(18, 28, "title", "start", title)
	s.text(18, 50, "muted", "start", heading(label, "", better))
	sizes, a := span(curves)
	for decade := a.minY; decade <= a.maxY; decade++ {
		y := plotBottom - (decade-a.minY)/(a.maxY-a.minY)*(plotBottom-plotTop)
		s.line(plotLeft, y, plotRight, y, "grid")
		s.text(plotLeft-9, y+4.5, "muted", "end", tick(math.Pow(10, decade), unit))
		for minor := 2.0; minor < 10 && decade < a.maxY && a.maxY-a.minY <= 2; minor++ {
			at := a.y(minor * math.Pow(10, decade))
			s.line(plotLeft, at, plotLeft+5, at, "axis")
		}
	}
	s.line(plotLeft, plotTop, plotLeft, plotBottom, "axis")
	s.line(plotLeft, plotBottom, plotRight, plotBottom, "axis")
	for _, size := range sizes {
		s.line(a.x(size), plotTop, a.x(size), plotBottom, "grid")
		s.line(a.x(size), plotBottom, a.x(size), plotBottom+5, "axis")
		s.text(a.x(size), plotBottom+22, "", "middle", power(size))
	}
	s.text((plotLeft+plotRight)/2, plotBottom+44, "muted", "middle", "events stored")
	for i := range slices.Backward(curves) { // the first is drawn last, on top
		s.curve(curves[i], a)
	}
	s.names(curves, unit, a)
	return s.String()
}

func (s *svg) curve(c curve, a axes) {
	line := make([][2]float64, len(c.points))
	for i, p := range c.points {
		x, y := a.x(p.size), a.y(p.cost.median)
		line[i] = [2]float64{x, y}
		if p.cost.max > p.cost.min {
			s.line(x, a.y(p.cost.min), x, a.y(p.cost.max), "whisker")
		}
	}
	s.polyline(line, "line "+series("s", c.series))
	for _, p := range line {
		s.circle(p[0], p[1], 3.6, series("f", c.series))
	}
}

// tick returns a power of ten with its unit.
func tick(v float64, unit string) string {
	by, unit := scaled(v, unit)
	return strings.TrimSuffix(strconv.FormatFloat(significant(v/by, 1), 'f', -1, 64)+" "+unit, " ")
}

// names writes each curve's name and last cost at its end, without overlaps.
func (s *svg) names(curves []curve, unit string, a axes) {
	order := slices.Clone(curves)
	last := func(c curve) point { return c.points[len(c.points)-1] }
	slices.SortStableFunc(order, func(b, c curve) int {
		return int(math.Copysign(1, last(c).cost.median-last(b).cost.median))
	})
	below := math.Inf(-1)
	for i, c := range order {
		p := last(c)
		y := max(a.y(p.cost.median)+4.5, below+labelGap)
		y = min(y, plotBottom+4.5-float64(labelGap*(len(order)-1-i))) // room for those that follow
		below = y
		s.line(a.x(p.size)+6, a.y(p.cost.median), plotRight+6, y-4.5, "grid")
		s.circle(plotRight+12, y-4.5, 4, series("f", c.series))
		s.text(plotRight+21, y, "", "start", c.name)
		s.text(curveWidth-14, y, "muted small", "end", value(p.cost.median, unit))
	}
}

// span returns what the axes must hold: whole decades of cost.
func span(curves []curve) (sizes []int, a axes) {
	a.minY, a.maxY = math.Inf(1), math.Inf(-1)
	for _, c := range curves {
		for _, p := range c.points {
			sizes = append(sizes, p.size)
			a.minY, a.maxY = min(a.minY, math.Log10(p.cost.min)), max(a.maxY, math.Log10(p.cost.max))
		}
	}
	slices.Sort(sizes)
	sizes = slices.Compact(sizes)
	a.minX, a.maxX = math.Log10(float64(sizes[0])), math.Log10(float64(sizes[len(sizes)-1]))
	a.minY, a.maxY = math.Floor(a.minY), math.Ceil(a.maxY)
	if a.minY == a.maxY {
		a.maxY++
	}
	return sizes, a
}
