// Package logging keeps one cause from filling the log, and the disk it may be
// on: of the lines about it the first is written, and then one in so long that
// says how many there would have been.
package logging

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"engramd/internal/relay/logging/redact"
)

// Options say what is limited.
type Options struct {
	About func(err error) bool // which errors; a line is about one that is among its attributes
	Every time.Duration        // between two lines
	Text  string               // of the line that stands for others
}

// state is what all handlers derived from one share.
type state struct {
	o    Options
	base slog.Handler // takes the lines that stand for others

	mu      sync.Mutex
	running bool // a line was written less than Every ago
	lines   int  // since then
	events  int64
	last    error
}

// New limits what goes to a handler.
func New(next slog.Handler, o Options) slog.Handler {
	s := &state{o: o, base: next}
	return redact.Through(next, func(ctx context.Context, h slog.Handler, r slog.Record) error {
		if err, events := subject(r); err != nil && o.About(err) && !s.begins(err, events) {
			return nil
		}
		return h.Handle(ctx, r)
	})
}

// subject returns the error that a line is about, nil for none, and how many
// events it says that it concerns.
func subject(r slog.Record) (err error, events int64) {
	r.Attrs(func(a slog.Attr) bool {
		v := a.Value.Resolve()
		switch {
		case a.Key == "events" && v.Kind() == slog.KindInt64:
			events = v.Int64()
		case v.Kind() == slog.KindAny && err == nil:
			err, _ = v.Any().(error)
		}
		return true
	})
	return err, events
}

// begins reports whether a line is the first in a while; else it counts it.
func (s *state) begins(err error, events int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		s.running = true
		time.AfterFunc(s.o.Every, s.tell)
		return true
	}
	s.lines++
	s.events += events
	s.last = err
	return false
}

// tell writes the line that stands for those that were counted.
func (s *state) tell() {
	s.mu.Lock()
	lines, events, last := s.lines, s.events, s.last
	s.lines, s.events, s.last = 0, 0, nil
	if s.running = lines > 0; s.running {
		time.AfterFunc(s.o.Every, s.tell)
	}
	s.mu.Unlock()
	if lines == 0 {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelError, s.o.Text, 0)
	r.AddAttrs(slog.Int64("events", events), slog.Int("lines", lines), slog.Any("err", last))
	_ = s.base.Handle(context.Background(), r) // nobody is there to tell
}
