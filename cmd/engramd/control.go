package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"engramd/internal/snapshot/operator"
)

// The control socket lies in the data folder, mode 0600, and lets commands of
// the same user hand their work to the running daemon, so that live readers see
// what an import brings. A conversation is one JSON line that names the
// command, then its input up to the end of the sending side; the daemon answers
// with JSON lines, the last of which has "done".

const (
	controlName  = "control.sock"
	replyTimeout = 10 * time.Second // a command that reads no replies is dropped
	shortPath    = 100              // socket paths end at 107 bytes on Linux, earlier elsewhere
)

// request is the first line of a conversation.
type request struct {
	Command string        `json:"command"`           // "import", "replace", "restore", orderMayRestore, "release", "drop", "delete" or the name of a serviceOrder
	Restore *restoreOrder `json:"restore,omitempty"` // of "restore"
	Name    string        `json:"name,omitempty"`    // in quarantine, of "release" and "drop"; else a key or a relay's URL
	Revoke  bool          `json:"revoke,omitempty"`  // of orderRotate
	Filters *filterFlags  `json:"filters,omitempty"` // of "delete"
	Top     int           `json:"top,omitempty"`     // of orderStatus: how much of each list
}

// reply is one line of the daemon's answer; exactly one field is set.
type reply struct {
	Skipped  *skipped       `json:"skipped,omitempty"`
	Agent    *replacedAgent `json:"agent,omitempty"`
	Progress *tally         `json:"progress,omitempty"`
	Done     *done          `json:"done,omitempty"`
}

// done ends an answer. Error is empty when the input was read to its end.
type done struct {
	Tally  tally           `json:"tally,omitzero"`   // of "import" and "replace"
	Result json.RawMessage `json:"result,omitempty"` // of the other commands
	Error  string          `json:"error,omitempty"`
}

// control is the daemon's side. It owns the socket and one goroutine for each
// conversation.
type control struct {
	importer  *importer
	snapshots *operator.Service
	orders    []serviceOrder
	log       *slog.Logger
	listener  net.Listener
	path      string
	cancel    context.CancelFunc
	serving   sync.WaitGroup
}

// startControl listens in the data folder, which the caller has locked: a
// socket that lies there is of a daemon that is gone.
func startControl(ctx context.Context, dir string, im *importer, snapshots *operator.Service, log *slog.Logger, orders ...serviceOrder) (*control, error) {
	path := filepath.Join(dir, controlName)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	at, release, err := socketAddress(dir)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	defer release()
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "unix", at)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // close removes it by its real path
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("control socket: %w", err), listener.Close())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &control{importer: im, snapshots: snapshots, orders: orders, log: log, listener: listener, path: path, cancel: cancel}
	c.serving.Go(func() { c.accept(ctx) })
	return c, nil
}

// socketAddress is the address of the control socket. A path that is too long
// for a socket is reached through the open folder.
func socketAddress(dir string) (at string, release func(), err error) {
	path := filepath.Join(dir, controlName)
	if len(path) <= shortPath {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), controlName), func() { _ = f.Close() }, nil
}

func (c *control) accept(ctx context.Context) {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return // closed
		}
		c.serving.Go(func() { c.converse(ctx, conn) })
	}
}

// close takes no more conversations, stops those under way after what they have
// begun is stored, and waits for them.
func (c *control) close() {
	if c == nil {
		return
	}
	c.cancel()
	_ = c.listener.Close()
	c.serving.Wait()
	_ = os.Remove(c.path)
}

// converse serves one command.
func (c *control) converse(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	// The end of ctx ends a read that waits for input.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
	defer stop()
	in := bufio.NewReader(conn)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return // nobody asked anything
	}
	out := &replies{conn: conn}
	var req request
	if json.Unmarshal(line, &req) != nil {
		req.Command = ""
	}
	switch req.Command {
	case "import":
		t, err := c.importer.run(ctx, in, out)
		c.imported(ctx, in, out, t, err)
	case "replace":
		// Chunked, because half an input must not look like a whole one.
		t, err := c.replacer().run(ctx, httputil.NewChunkedReader(in), out)
		c.imported(ctx, in, out, t, err)
	case "restore", orderMayRestore, "release", "drop", "delete":
		c.obey(ctx, req, in, out)
	default:
		if slices.ContainsFunc(c.orders, func(o serviceOrder) bool { return o.name == req.Command }) {
			c.obey(ctx, req, in, out)
			return
		}
		_ = out.send(reply{Done: &done{Error: "this daemon does not know the command: it is another version than yours"}})
	}
}

func (c *control) replacer() *replacer {
	return &replacer{importer: c.importer, snapshots: c.snapshots, dir: filepath.Dir(c.path)}
}

// imported ends the answer to "import" and "replace".
func (c *control) imported(ctx context.Context, in io.Reader, out *replies, t tally, err error) {
	c.log.Info("import", "stored", t.Stored+t.Replaced, "known", t.Known+t.Older, "deleted", t.Deleted, "skipped", t.Skipped, "complete", err == nil)
	d := done{Tally: t}
	switch {
	case err != nil && ctx.Err() != nil:
		d.Error = "the daemon is shutting down; run the import again when it is back"
	case err != nil:
		d.Error = err.Error()
	}
	if out.send(reply{Done: &d}) != nil {
		return // a command that is gone knows its work is unfinished
	}
	// Closing with input unread would take the answer away from the command.
	_ = out.conn.SetReadDeadline(time.Now().Add(replyTimeout))
	if ctx.Err() == nil {
		_, _ = io.Copy(io.Discard, in) // ends when the command has read the answer
	}
}

// replies is the progress of an import, sent to the command.
type replies struct {
	conn net.Conn
	last time.Time
}

func (r *replies) send(v reply) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := r.conn.SetWriteDeadline(time.Now().Add(replyTimeout)); err != nil {
		return err
	}
	_, err = r.conn.Write(append(text, '\n'))
	return err
}

func (r *replies) skip(s skipped) error { return r.send(reply{Skipped: &s}) }

func (r *replies) agent(a replacedAgent) error { return r.send(reply{Agent: &a}) }

func (r *replies) tick(t tally) error {
	if time.Since(r.last) < time.Second {
		return nil
	}
	r.last = time.Now()
	return r.send(reply{Progress: &t})
}

// importThroughDaemon hands the input to the daemon that holds the folder and
// passes on what it reports.
func importThroughDaemon(ctx context.Context, dir string, replace bool, in io.Reader, p replacing) (tally, error) {
	at, release, err := socketAddress(dir)
	if err != nil {
		return tally{}, err
	}
	defer release()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", at)
	if err != nil {
		return tally{}, fmt.Errorf("it takes no imports: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	sent := make(chan error, 1)
	go func() { sent <- sendImport(conn.(*net.UnixConn), replace, in) }()
	last, err := readReplies(conn, p)
	if ctx.Err() != nil {
		return last, context.Cause(ctx)
	}
	if errors.Is(err, errGone) {
		// What could not be sent tells more than an answer that ended.
		select {
		case e := <-sent:
			err = errors.Join(err, e)
		default:
		}
	}
	return last, err
}

func sendImport(conn *net.UnixConn, replace bool, in io.Reader) error {
	req, out := request{Command: "import"}, io.WriteCloser(nopCloser{conn})
	if replace {
		req.Command, out = "replace", httputil.NewChunkedWriter(conn)
	}
	line, err := json.Marshal(req)
	if err != nil {
		return err
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = conn.Close() // half an input must not look like a whole one
		return fmt.Errorf("read input: %w", err)
	}
	if err := out.Close(); err != nil {
		return err
	}
	return conn.CloseWrite()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

var errGone = errors.New("the daemon went away before the end; run the import again")

// readReplies passes the daemon's reports on until it is done.
func readReplies(conn io.Reader, p replacing) (tally, error) {
	var last tally
	dec := json.NewDecoder(conn)
	for {
		var r reply
		if err := dec.Decode(&r); err != nil {
			return last, errGone
		}
		var err error
		switch {
		case r.Skipped != nil:
			err = p.skip(*r.Skipped)
		case r.Agent != nil:
			err = p.agent(*r.Agent)
		case r.Progress != nil:
			last = *r.Progress
			err = p.tick(last)
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
