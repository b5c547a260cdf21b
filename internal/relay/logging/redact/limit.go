package redact

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limit bounds the lines that clients can cause: those below level info, and
// those that say Access. Lines at info and above are the daemon's own words and
// always pass.
//
// Dropped lines are counted, and reported in a line of their own as soon as
// there is room again, at most once a second. In lines below info whatever
// looks like a key or an id is left out, whoever wrote them: libraries do, too.
func Limit(h slog.Handler, perSecond float64, burst int) slog.Handler {
	b := &budget{lines: rate.NewLimiter(rate.Limit(perSecond), burst), notes: rate.NewLimiter(1, 1)}
	return Through(h, b.handle)
}

// Through returns a handler whose lines, and those of the handlers derived from
// it, go through pass, which has the one behind it write them.
func Through(h slog.Handler, pass func(ctx context.Context, next slog.Handler, r slog.Record) error) slog.Handler {
	return &through{h, pass}
}

type through struct {
	slog.Handler
	pass func(context.Context, slog.Handler, slog.Record) error
}

// Handle has the line pass.
func (t *through) Handle(ctx context.Context, r slog.Record) error { return t.pass(ctx, t.Handler, r) }

// WithAttrs goes through the same.
func (t *through) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &through{t.Handler.WithAttrs(attrs), t.pass}
}

// WithGroup goes through the same.
func (t *through) WithGroup(name string) slog.Handler {
	return &through{t.Handler.WithGroup(name), t.pass}
}

// Access marks a line of the access log, whose level is info.
const Access = "access"

type budget struct {
	lines, notes *rate.Limiter

	mu      sync.Mutex
	dropped int
}

// handle writes the record, or drops it.
func (b *budget) handle(ctx context.Context, next slog.Handler, r slog.Record) error {
	if r.Level >= slog.LevelInfo && r.Message != Access {
		return next.Handle(ctx, r)
	}
	if !b.lines.AllowN(r.Time, 1) {
		b.mu.Lock()
		b.dropped++
		b.mu.Unlock()
		return nil
	}
	if n := b.take(r.Time); n > 0 {
		note := slog.NewRecord(r.Time, slog.LevelInfo, "log lines about clients were dropped: there were too many", 0)
		note.AddAttrs(slog.Int("lines", n))
		if err := next.Handle(ctx, note); err != nil {
			return err
		}
	}
	if r.Level < slog.LevelInfo {
		r = redacted(r)
	}
	return next.Handle(ctx, r)
}

// redacted returns a record with every text in it made Plain.
func redacted(r slog.Record) slog.Record {
	out := slog.NewRecord(r.Time, r.Level, Plain(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		switch v := a.Value.Resolve(); v.Kind() {
		case slog.KindString:
			a.Value = slog.StringValue(Plain(v.String()))
		case slog.KindAny:
			a.Value = slog.StringValue(Plain(fmt.Sprint(v.Any())))
		}
		out.AddAttrs(a)
		return true
	})
	return out
}

// take returns how many lines were dropped since it was last said, 0 when it is
// too early to say so.
func (b *budget) take(now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped == 0 || !b.notes.AllowN(now, 1) {
		return 0
	}
	n := b.dropped
	b.dropped = 0
	return n
}
