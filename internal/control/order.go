package control

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
)

// Order is a command of the control socket that has no input: one request, one
// reply. The command keeps its side open while it waits; when it goes away, the
// order's context ends, and the daemon stops what it has not begun to switch in.
type Order struct {
	name string
	do   func(ctx context.Context, line []byte) (any, error)
}

// NewOrder makes an order. Its arguments are members of the request, its result
// is told as JSON.
func NewOrder[Args any](name string, do func(ctx context.Context, args Args) (any, error)) Order {
	return Order{name, func(ctx context.Context, line []byte) (any, error) {
		var args Args
		if json.Unmarshal(line, &args) != nil {
			return nil, errUnknown
		}
		return do(ctx, args)
	}}
}

// obey serves an order.
func (s *Server) obey(ctx context.Context, o Order, line []byte, in *bufio.Reader, out *replies) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // ends with the connection
		cancel()
	}()
	result, err := o.do(ctx, line)
	d := done{}
	if err == nil {
		d.Result, err = json.Marshal(result)
	}
	if err != nil {
		s.log.Warn("an order of a command failed", "command", o.name, "err", err)
		d = done{Error: err.Error()}
	}
	_ = out.send(reply{Done: &d}) // a command that is gone does not know
}
