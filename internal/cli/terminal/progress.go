package terminal

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// When a bar appears, and how often it changes.
const (
	progressAfter = 700 * time.Millisecond
	progressEvery = 100 * time.Millisecond
	progressWidth = 20
)

// Progress shows on a terminal that a long command is alive: a bar that fills
// up to the time limit, since nobody can know how much the relays will send,
// and how much has come. The zero progress counts and shows nothing.
type Progress struct {
	events atomic.Int64
	bytes  atomic.Int64
	// done and of are how much of what is known to come has come; 0: nobody knows.
	done, of atomic.Int64
}

// Reach says how much of what is known to come has come.
func (p *Progress) Reach(done, of int) {
	p.done.Store(int64(done))
	p.of.Store(int64(of))
}

// Of returns how much is known to come.
func (p *Progress) Of() int { return int(p.of.Load()) }

var eventFrame = []byte(`["EVENT"`)

// Trace counts what comes in; it is a client.Trace.
func (p *Progress) Trace(_ string, sent bool, frame []byte) {
	if sent {
		return
	}
	p.bytes.Add(int64(len(frame)))
	if bytes.HasPrefix(frame, eventFrame) {
		p.events.Add(1)
	}
}

// Show draws the bar on w until the function it returns is called, which
// removes it. limit is the time after which the command ends by itself.
func (p *Progress) Show(ctx context.Context, w io.Writer, limit time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	start := time.Now()
	go func() {
		defer close(done)
		drawn := false
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				if drawn {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-tick.C:
			}
			if took := time.Since(start); took >= progressAfter {
				fmt.Fprintf(w, "\r\x1b[K%s", p.line(took, limit))
				drawn = true
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// line returns the bar at a moment.
func (p *Progress) line(took, limit time.Duration) string {
	full := min(int(int64(progressWidth)*int64(took)/int64(limit)), progressWidth)
	if done, of := p.done.Load(), p.of.Load(); of > 0 {
		full = min(int(progressWidth*done/of), progressWidth)
		return fmt.Sprintf("[%s%s] %d of %d memories, %.1f s of %v", strings.Repeat("#", full), strings.Repeat(".", progressWidth-full), done, of, took.Seconds(), limit)
	}
	return fmt.Sprintf("[%s%s] %d records, %d KiB, %.1f s of %v", strings.Repeat("#", full), strings.Repeat(".", progressWidth-full),
		p.events.Load(), p.bytes.Load()>>10, took.Seconds(), limit)
}
