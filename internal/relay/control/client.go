package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"

	"engramd/internal/relay/ingest"
)

// Import sends the input to the daemon that holds the folder, and passes its
// reports on to p.
func Import(ctx context.Context, dir string, replace bool, in io.Reader, p ingest.Replacing) (ingest.Tally, error) {
	conn, hangUp, err := dial(ctx, dir)
	if err != nil {
		return ingest.Tally{}, fmt.Errorf("it takes no imports: %w", err)
	}
	defer hangUp()
	sent := make(chan error, 1)
	go func() { sent <- sendImport(conn.(*net.UnixConn), replace, in) }()
	last, err := readReplies(conn, p)
	if ctx.Err() != nil {
		return last, context.Cause(ctx)
	}
	if errors.Is(err, errGone) {
		// A failure to send explains more than an answer that ended.
		select {
		case e := <-sent:
			err = errors.Join(err, e)
		default:
		}
	}
	return last, err
}

// dial connects to the daemon's socket. The end of ctx hangs up, too.
func dial(ctx context.Context, dir string) (conn net.Conn, hangUp func(), err error) {
	at, release, err := socketAddress(dir)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	var d net.Dialer
	if conn, err = d.DialContext(ctx, "unix", at); err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, func() {
		stop()
		_ = conn.Close()
	}, nil
}

func sendImport(conn *net.UnixConn, replace bool, in io.Reader) error {
	command, out, end := cmdImport, io.Writer(conn), func() error { return nil }
	if replace {
		chunked := httputil.NewChunkedWriter(conn)
		command, out, end = cmdReplace, chunked, chunked.Close
	}
	line, err := requestLine(request{Command: command}, nil)
	if err != nil {
		return err
	}
	if _, err := conn.Write(line); err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = conn.Close() // half an input must not look complete
		return fmt.Errorf("read input: %w", err)
	}
	if err := end(); err != nil {
		return err
	}
	return conn.CloseWrite()
}

var errGone = errors.New("the daemon went away before the end; run the import again")

// readReplies passes the daemon's reports on to p until the daemon is done.
func readReplies(conn io.Reader, p ingest.Replacing) (ingest.Tally, error) {
	var last ingest.Tally
	dec := json.NewDecoder(conn)
	for {
		var r reply
		if err := dec.Decode(&r); err != nil {
			return last, errGone
		}
		var err error
		switch {
		case r.Skipped != nil:
			err = p.Skip(*r.Skipped)
		case r.Agent != nil:
			err = p.Agent(*r.Agent)
		case r.Progress != nil:
			last = *r.Progress
			err = p.Tick(last)
		case r.Done != nil && r.Done.Error != "":
			return r.Done.Tally, errors.New(r.Done.Error)
		case r.Done != nil:
			return r.Done.Tally, nil
		}
		if err != nil {
			return last, err
		}
	}
}

// UnreachableError says that the daemon's control socket could not be used.
type UnreachableError struct{ error }

// Unwrap gives errors.Is the cause.
func (e *UnreachableError) Unwrap() error { return e.error }

// Ask sends an order to the daemon that holds the folder and returns its
// result. args has the order's arguments as members; nil means none. hear gets
// what the order tells while it runs; nil is nobody. The error is an
// *UnreachableError if the daemon cannot be asked.
func Ask(ctx context.Context, dir, command string, args any, hear func(json.RawMessage)) (json.RawMessage, error) {
	conn, hangUp, err := dial(ctx, dir)
	if err != nil {
		return nil, &UnreachableError{fmt.Errorf("it takes no orders: %w", err)}
	}
	defer hangUp()
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
