package report

import (
	"fmt"
	"math"

	"engramd/cmd/engram-load/internal/bench"
)

// verdict is what came of a target.
type verdict struct {
	target bench.Target
	known  bool    // both figures are there
	value  float64 // the figure, or its ratio to the base
	figure string  // the figures it is made of, as text
	why    string  // why it is not known
	size   int     // what was measured instead of the target's size, 0 if that was
}

// met reports whether the target is reached.
func (v verdict) met() bool {
	return v.known && (v.target.Min != nil && v.value >= *v.target.Min || v.target.Max != nil && v.value <= *v.target.Max)
}

// bound returns what the value is held against.
func (v verdict) bound() float64 {
	if v.target.Min != nil {
		return *v.target.Min
	}
	return *v.target.Max
}

// shown returns the value, or ratio, as text.
func (v verdict) shown() string {
	if v.target.Of != nil {
		return number(v.value) + " ×"
	}
	return value(v.value, v.target.Unit)
}

// says is met or missed, and by how much.
func (v verdict) says() string {
	if !v.known {
		return "**no figure**: " + v.why
	}
	by := ""
	if bound := v.bound(); bound != 0 {
		by = fmt.Sprintf(" by %s %%", number(math.Abs(v.value-bound)/bound*100))
	}
	if v.size != 0 {
		by += ", but with " + power(v.size) + " events"
	}
	if v.met() {
		return "met" + by
	}
	return "**missed" + by + "**"
}

// judge looks at a target.
func (p *page) judge(t bench.Target) verdict {
	v := verdict{target: t}
	at := place{t.Measure, p.results.Config.Subject, p.sizeOf(t.Measure, t.Size)}
	own, ok := p.cells[at].figure(t.Figure)
	if !ok {
		v.why = p.absence(at, t.Figure)
		return v
	}
	if t.Size != at.size && t.Size != 0 {
		v.size = at.size
	}
	unit := t.Unit
	v.known, v.value, v.figure = true, own.median, value(own.median, unit)
	if t.Of == nil {
		return v
	}
	of := basis(t, p.results.Config.Subject)
	base := place{of.Measure, of.Server, p.sizeOf(of.Measure, of.Size)}
	other, ok := p.cells[base].figure(of.Figure)
	if !ok || other.median == 0 {
		v.known, v.figure, v.why = false, "", p.absence(base, of.Figure)
		return v
	}
	v.value = own.median / other.median
	v.figure += " : " + value(other.median, unit)
	return v
}

// basis returns the target's base with nothing left open.
func basis(t bench.Target, subject string) bench.Base {
	of := *t.Of
	if of.Server == "" {
		of.Server = subject
	}
	if of.Measure == "" {
		of.Measure = t.Measure
	}
	if of.Figure == "" {
		of.Figure = t.Figure
	}
	if of.Size == 0 {
		of.Size = t.Size
	}
	return of
}

// absence reports why there is no figure.
func (p *page) absence(at place, figure string) string {
	where := fmt.Sprintf("%s of %s", at.measure, at.server)
	if at.size > 0 {
		where += " at " + power(at.size)
	}
	switch c := p.cells[at]; {
	case c == nil:
		return where + " was not measured"
	case c.without != "":
		return where + ": " + c.without
	case len(c.failures) > 0:
		return where + " " + c.failed()
	}
	return where + " has no figure " + figure
}
