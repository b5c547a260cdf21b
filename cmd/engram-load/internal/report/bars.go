package report

// bar is one server in a panel.
type bar struct {
	name   string
	series int
	spread spread
	known  bool
	note   string // after the value: its ratio; without a value: why there is none
	bad    bool   // it failed
}

// panel is one figure of all servers.
type panel struct {
	label, unit, better string
	bars                []bar
	target              float64 // where the target lies; 0: nowhere
}

// Measures of a picture with bars, in pixels.
const (
	barsWidth   = 760
	barsLeft    = 104 // of the bars, after the names
	barsRight   = 190 // for the values
	rowHeight   = 27
	barHeight   = 17
	titleSpace  = 44
	targetSpace = 14 // for the target's name below the bars
	panelHead   = 34
)

// drawBars draws panels one below the other.
func drawBars(title string, panels []panel) string {
	s := &svg{width: barsWidth, height: titleSpace + 10}
	for _, p := range panels {
		s.height += panelHead + rowHeight*len(p.bars) + 8
		if p.target > 0 {
			s.height += targetSpace
		}
	}
	s.text(18, 28, "title", "start", title)
	y := float64(titleSpace)
	for _, p := range panels {
		y = s.panel(p, y)
	}
	return s.String()
}

// panel draws at y and returns where the next one begins.
func (s *svg) panel(p panel, y float64) float64 {
	longest := p.target
	for _, b := range p.bars {
		if b.known {
			longest = max(longest, b.spread.max)
		}
	}
	scale := func(v float64) float64 {
		if longest == 0 {
			return 0
		}
		return v / longest * (barsWidth - barsLeft - barsRight)
	}
	s.text(18, y+16, "muted", "start", heading(p.label, "", p.better))
	top := y + panelHead - 6
	bottom := top + float64(rowHeight*len(p.bars))
	s.line(barsLeft, top, barsLeft, bottom, "axis")
	for i, b := range p.bars {
		s.bar(b, top+float64(i*rowHeight), scale)
	}
	end := bottom
	if p.target > 0 {
		x := barsLeft + scale(p.target)
		s.line(x, top, x, bottom+4, "target")
		s.text(x, bottom+15, "small", "middle", "target "+value(p.target, p.unit))
		end += targetSpace
	}
	for i, b := range p.bars { // over the target's line
		s.words(b, top+float64(i*rowHeight), p.unit, scale)
	}
	return end + 8
}

// bar draws the row's bar and its whisker from least to most.
func (s *svg) bar(b bar, y float64, scale func(float64) float64) {
	if !b.known {
		return
	}
	s.rect(barsLeft, y+(rowHeight-barHeight)/2, max(scale(b.spread.median), 1), barHeight, series("f", b.series))
	if b.spread.max > b.spread.min {
		low, high, middle := barsLeft+scale(b.spread.min), barsLeft+scale(b.spread.max), y+rowHeight/2
		s.line(low, middle, high, middle, "whisker")
		s.line(low, middle-4, low, middle+4, "whisker")
		s.line(high, middle-4, high, middle+4, "whisker")
	}
}

// words writes the row's name and value, or why it has none.
func (s *svg) words(b bar, y float64, unit string, scale func(float64) float64) {
	base := y + rowHeight/2 + 4.5
	s.text(barsLeft-9, base, "", "end", b.name)
	if !b.known {
		class := "muted small"
		if b.bad {
			class = "bad small"
		}
		s.text(barsLeft+8, base, class, "start", b.note)
		return
	}
	at, text := barsLeft+scale(max(b.spread.median, b.spread.max))+8, value(b.spread.median, unit)
	s.text(at, base, "halo", "start", text)
	if b.note != "" {
		s.text(at+textWidth(text)+10, base, "muted small halo", "start", b.note)
	}
}

// heading reports what a panel or an axis shows.
func heading(label, unit, better string) string {
	if unit != "" {
		label += ", " + unit
	}
	if better == "" {
		return label
	}
	return label + " (" + better + " is better)"
}

// textWidth is about how wide a text of 13 pixels is.
func textWidth(text string) float64 {
	width := 0.0
	for _, c := range text {
		switch c {
		case ' ', ',', '.', ':', 'i', 'l', '(', ')':
			width += 4.6
		default:
			width += 8.1
		}
	}
	return width
}
