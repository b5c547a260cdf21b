package relaytest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
)

// ErrEnded means that the process ended before the awaited line came.
var ErrEnded = errors.New("the process ended")

// Log collects the lines a child writes.
type Log struct {
	mu      sync.Mutex
	lines   []string
	partial []byte
	ended   bool
	changed chan struct{} // closed and renewed at every change
}

func newLog() *Log { return &Log{changed: make(chan struct{})} }

// Write takes the child's output.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.partial = append(l.partial, p...)
	for {
		line, rest, ok := bytes.Cut(l.partial, []byte("\n"))
		if !ok {
			break
		}
		l.lines = append(l.lines, string(line))
		l.partial = rest
	}
	l.signal()
	return len(p), nil
}

func (l *Log) note(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, "[relaytest] "+line)
	l.signal()
}

func (l *Log) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.signal()
}

func (l *Log) signal() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Text returns all that was written.
func (l *Log) Text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n") + "\n" + string(l.partial)
}

// Wait returns the first line, written already or still to come, that match
// accepts.
func (l *Log) Wait(ctx context.Context, match func(line string) bool) (string, error) {
	next := 0
	for {
		l.mu.Lock()
		lines, ended, changed := l.lines, l.ended, l.changed
		l.mu.Unlock()
		for ; next < len(lines); next++ {
			if match(lines[next]) {
				return lines[next], nil
			}
		}
		if ended {
			return "", ErrEnded
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
