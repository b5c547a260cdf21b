package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"engramd/internal/config"
	"engramd/internal/store/sqlite"
)

// Orders are the commands of the control socket that have no input: one request,
// one reply. The command keeps its side open while it waits; when it goes away,
// the daemon stops what it has not begun to switch in.

// serviceOrder is an order that a part of the daemon carries out.
type serviceOrder struct {
	name string
	do   func(ctx context.Context, req request) (any, error)
}

// obey serves an order.
func (c *control) obey(ctx context.Context, req request, in *bufio.Reader, out *replies) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in) // ends with the connection
		cancel()
	}()
	result, err := c.carryOut(ctx, req)
	d := done{}
	if err == nil {
		d.Result, err = json.Marshal(result)
	}
	if err != nil {
		c.log.Warn("an order of a command failed", "command", req.Command, "err", err)
		d = done{Error: err.Error()}
	}
	_ = out.send(reply{Done: &d}) // a command that is gone does not know
}

func (c *control) carryOut(ctx context.Context, req request) (any, error) {
	switch req.Command {
	case "release":
		return c.snapshots.ReleaseQuarantine(ctx, req.Name)
	case orderMayRestore:
		return mayRestore(ctx, c.snapshots, req.Restore)
	case "drop":
		return struct{}{}, c.snapshots.DropQuarantine(ctx, req.Name)
	case "delete":
		if req.Filters == nil {
			return nil, errors.New("nothing to delete was named")
		}
		done, err := remove(ctx, c.importer.store, *req.Filters)
		c.log.Info("delete", "removed", total(done), "complete", err == nil)
		return done, err
	}
	for _, o := range c.orders {
		if o.name == req.Command {
			return o.do(ctx, req)
		}
	}
	if req.Restore == nil {
		return nil, errors.New("nothing to restore was named")
	}
	q, err := req.Restore.request()
	if err != nil {
		return nil, err
	}
	return c.snapshots.Restore(ctx, q)
}

// unreachableError says that the daemon's control socket could not be used.
type unreachableError struct{ error }

// Unwrap gives errors.Is the cause.
func (e *unreachableError) Unwrap() error { return e.error }

// askDaemon has the daemon that holds the folder carry out an order and returns its
// result. The error is an *unreachableError if it cannot be asked.
func askDaemon(ctx context.Context, dir string, req request) (json.RawMessage, error) {
	at, release, err := socketAddress(dir)
	if err != nil {
		return nil, err
	}
	defer release()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", at)
	if err != nil {
		return nil, &unreachableError{fmt.Errorf("it takes no orders: %w", err)}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	line, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return nil, &unreachableError{err}
	}
	var r reply
	err = json.NewDecoder(conn).Decode(&r)
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

// order does what writes to the database: by the daemon that holds the folder, whose answer is read into result, or here,
// where nobody else has the database open.
func order(ctx context.Context, cfg *config.Config, req request, result any, here func(*sqlite.Store) error) (err error) {
	if err := sqlite.PrepareDir(cfg.Data); err != nil {
		return err
	}
	lock, err := sqlite.Lock(cfg.Data)
	if errors.Is(err, sqlite.ErrLocked) {
		answer, failed := askDaemon(ctx, cfg.Data, req)
		if unreachable := new(unreachableError); errors.As(failed, &unreachable) {
			return fmt.Errorf("%w: %w", err, failed)
		}
		if failed != nil || answer == nil {
			return failed
		}
		return json.Unmarshal(answer, result)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	s, err := openAlone(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(here(s), s.Close())
}
