package session

import (
	"context"
	"fmt"
	"time"
)

// allow returns how long something may take that has so much time.
func (s *Session) allow(d time.Duration) time.Duration { return d + s.o.Slack }

// note tells the person something.
func (s *Session) note(format string, args ...any) { s.o.Note(fmt.Sprintf(format, args...)) }

// detail tells what only matters to a person who looks for a fault.
func (s *Session) detail(format string, args ...any) {
	if s.o.Detail != nil {
		s.o.Detail(fmt.Sprintf(format, args...))
	}
}

// warn tells of something that is no error: a server's log, or the person.
func (s *Session) warn(format string, args ...any) { s.Warn(fmt.Sprintf(format, args...)) }

// Warn tells of a line as the session does: in a server's log, or to the person.
func (s *Session) Warn(line string) {
	if s.o.Log != nil {
		s.o.Log.Warn(line)
		return
	}
	s.o.Note(line)
}

// bounded begins what is limited by Options.Timeout.
func (s *Session) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.o.Bound != nil {
		return s.o.Bound(ctx)
	}
	return context.WithTimeout(ctx, s.o.Timeout)
}
