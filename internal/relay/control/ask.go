package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
)

// UnreachableError says that the daemon's control socket could not be used.
type UnreachableError struct{ error }

// Unwrap gives errors.Is the cause.
func (e *UnreachableError) Unwrap() error { return e.error }

// Ask sends an order to the daemon that holds the folder and returns its
// result. args has the order's arguments as members; nil means none. The error
// is an *UnreachableError if the daemon cannot be asked.
func Ask(ctx context.Context, dir, command string, args any) (json.RawMessage, error) {
	return AskAndHear(ctx, dir, command, args, nil)
}

// AskAndHear is Ask, and calls hear with what the order tells while it runs. nil
// is nobody.
func AskAndHear(ctx context.Context, dir, command string, args any, hear func(json.RawMessage)) (json.RawMessage, error) {
	at, release, err := socketAddress(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", at)
	if err != nil {
		return nil, &UnreachableError{fmt.Errorf("it takes no orders: %w", err)}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	line, err := requestLine(request{command, hear != nil}, args)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(line); err != nil {
		return nil, &UnreachableError{err}
	}
	var r reply
	dec := json.NewDecoder(conn)
	for err = dec.Decode(&r); err == nil && r.Told != nil && hear != nil; err = dec.Decode(&r) {
		hear(r.Told)
		r = reply{}
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil || r.Done == nil:
		return nil, errors.New("the daemon went away before it answered; what it had begun is done or undone as a whole: look, and run it again")
	case r.Done.Error != "":
		return nil, errors.New(r.Done.Error)
	}
	return r.Done.Result, nil
}
