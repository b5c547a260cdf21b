package control

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
)

// Order is a command of the control socket without input: one request, one
// reply, and before it what the order tells of its progress, if the client wants
// to hear that. The client keeps its side open while it waits; when it goes away, the
// order's context ends, and the daemon stops unless it has begun to commit.
type Order struct {
	name string
	do   func(ctx context.Context, line []byte, tell func(any)) (any, error)
}

// NewOrder returns an order. Its arguments are members of the request, its
// result is sent as JSON.
func NewOrder[Args any](name string, do func(ctx context.Context, args Args) (any, error)) Order {
	return NewTellingOrder(name, func(ctx context.Context, args Args, _ func(any)) (any, error) { return do(ctx, args) })
}

// NewTellingOrder returns an order that tells while it runs how far it is, in
// values that are sent as JSON, one after the other.
func NewTellingOrder[Args any](name string, do func(ctx context.Context, args Args, tell func(any)) (any, error)) Order {
	return Order{name, func(ctx context.Context, line []byte, tell func(any)) (any, error) {
		var args Args
		if json.Unmarshal(line, &args) != nil {
			return nil, errUnknown
		}
		return do(ctx, args, tell)
	}}
}

// serveOrder executes an order and sends its result.
func (s *Server) serveOrder(ctx context.Context, o Order, hears bool, line []byte, in *bufio.Reader, out *replies) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // ends with the connection
		cancel()
	}()
	tell := func(any) {}
	if hears {
		tell = func(v any) {
			if text, err := json.Marshal(v); err == nil {
				_ = out.send(reply{Told: text}) // the client may have gone
			}
		}
	}
	result, err := o.do(ctx, line, tell)
	d := done{}
	if err == nil {
		d.Result, err = json.Marshal(result)
	}
	if err != nil {
		s.log.Warn("an order of a command failed", "command", o.name, "err", err)
		d = done{Error: err.Error()}
	}
	_ = out.send(reply{Done: &d}) // the client may have gone
}
