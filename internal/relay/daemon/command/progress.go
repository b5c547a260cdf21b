package command

import (
	"fmt"
	"io"
	"time"

	"engramd/internal/relay/replica"
)

// progress shows on a terminal how far a pass is, in one line that changes. The
// zero progress shows nothing.
type progress struct {
	w     io.Writer // nil: nobody looks
	began time.Time
	shown bool
}

func (m *Main) newProgress() *progress {
	p := &progress{began: time.Now()}
	if m.Terminal {
		p.w = m.Stderr
	}
	return p
}

// show shows where a pass stands.
func (p *progress) show(s replica.Status) {
	if p.w != nil {
		p.shown = true
		fmt.Fprintf(p.w, "\r\x1b[K%s: %d taken, %d known, %d deleted here, %d refused, %.0f s", s.Relay, s.Taken, s.Known, s.Deleted, s.RefusedEvents(), time.Since(p.began).Seconds())
	}
}

// end takes the line away.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
