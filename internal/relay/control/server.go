// Package control is the daemon's local socket: commands of the same user hand
// their work to the daemon that holds the data folder, so that live readers see
// what an import brings. It knows imports; everything else is a list of orders,
// which the daemon provides.
//
// The socket is in the data folder, with mode 0600. A conversation is one JSON
// line that names the command, then its input until the client closes its
// sending side; the daemon answers with JSON lines, the last of which has
// "done".
package control

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
	"syscall"
	"time"

	"engramd/internal/relay/ingest"
	"engramd/internal/relay/snapshots"
)

// Name is the socket's name in the data folder.
const Name = "control.sock"

const (
	replyTimeout   = 10 * time.Second // a client that reads no replies is dropped
	shortPathBytes = 100              // socket paths end at 107 bytes on Linux, earlier elsewhere
)

// Options configure a Server.
type Options struct {
	Dir       string // the data folder, which the caller has locked
	Importer  *ingest.Importer
	Snapshots *snapshots.Service // for imports that replace
	Orders    []Order
	Refusal   error // answers all but the orders, nil for none: then there is an Importer
	Log       *slog.Logger
}

// Server is the daemon's side of the socket. It owns the socket and one
// goroutine for each conversation.
type Server struct {
	importer *ingest.Importer
	replacer *ingest.Replacer
	orders   []Order
	refusal  error
	log      *slog.Logger
	listener net.Listener
	path     string
	cancel   context.CancelFunc
	serving  sync.WaitGroup
}

// ErrNoSocket means that the file system of the data folder has no Unix sockets.
var ErrNoSocket = errors.New("the file system of the data folder takes no socket")

// Listen accepts commands from now on. It replaces a socket in the folder,
// which was left by a daemon that has ended.
func Listen(ctx context.Context, o Options) (*Server, error) {
	path := filepath.Join(o.Dir, Name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	at, release, err := socketAddress(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	defer release()
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "unix", at)
	if err != nil {
		return nil, notListening(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // Close removes it by its real path
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("control socket: %w", err), listener.Close())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{
		importer: o.Importer, replacer: &ingest.Replacer{Importer: o.Importer, Snapshots: o.Snapshots, Dir: o.Dir},
		orders: o.Orders, refusal: o.Refusal, log: o.Log, listener: listener, path: path, cancel: cancel,
	}
	s.serving.Go(func() { s.accept(ctx) })
	return s, nil
}

// notListening says why there is no socket.
func notListening(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) { // which vfat says
		return fmt.Errorf("%w: %w", ErrNoSocket, err)
	}
	return fmt.Errorf("control socket: %w", err)
}

// socketAddress returns the address of the control socket. If the path is too
// long for a socket, the address goes through the open folder.
func socketAddress(dir string) (at string, release func(), err error) {
	path := filepath.Join(dir, Name)
	if len(path) <= shortPathBytes {
		return path, func() {}, nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), Name), func() { _ = f.Close() }, nil
}

func (s *Server) accept(ctx context.Context) {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return // closed
		}
		s.serving.Go(func() { s.converse(ctx, conn) })
	}
}

// Close accepts no more conversations, stops those under way once the work that
// they have begun is stored, and waits for them.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.cancel()
	_ = s.listener.Close()
	s.serving.Wait()
	_ = os.Remove(s.path)
}

// converse serves one command.
func (s *Server) converse(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	// When ctx ends, so does a read that waits for input.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
	defer stop()
	in := bufio.NewReader(conn)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return // the client asked nothing
	}
	out := &replies{conn: conn}
	var asked request
	if json.Unmarshal(line, &asked) != nil {
		asked = request{} // it asks for nothing that is known
	}
	i := slices.IndexFunc(s.orders, func(o Order) bool { return o.name == asked.Command })
	switch {
	case i >= 0:
		s.serveOrder(ctx, s.orders[i], asked.Hears, line, in, out)
	case s.refusal != nil:
		s.end(ctx, in, out, done{Error: s.refusal.Error()})
	case asked.Command == cmdImport:
		t, err := s.importer.Run(ctx, in, out)
		s.imported(ctx, in, out, t, err)
	case asked.Command == cmdReplace:
		// The input is chunked, because half of it must not look complete.
		t, err := s.replacer.Run(ctx, httputil.NewChunkedReader(in), out)
		s.imported(ctx, in, out, t, err)
	default:
		_ = out.send(reply{Done: &done{Error: errUnknown.Error()}})
	}
}

// imported sends the end of the answer to "import" and "replace".
func (s *Server) imported(ctx context.Context, in io.Reader, out *replies, t ingest.Tally, err error) {
	s.log.Info("import", "stored", t.Stored+t.Replaced, "known", t.Known+t.Older, "deleted", t.Deleted, "skipped", t.Skipped, "complete", err == nil)
	d := done{Tally: t}
	switch {
	case err != nil && ctx.Err() != nil:
		d.Error = "the daemon is shutting down; run the import again when it is back"
	case err != nil:
		d.Error = err.Error()
	}
	s.end(ctx, in, out, d)
}

// end sends it where the client may be sending still.
func (s *Server) end(ctx context.Context, in io.Reader, out *replies, d done) {
	if out.send(reply{Done: &d}) != nil {
		return // a client that went away knows that its work is unfinished
	}
	// Closing with unread input would take the answer away from the client.
	_ = out.conn.SetReadDeadline(time.Now().Add(replyTimeout))
	if ctx.Err() == nil {
		_, _ = io.Copy(io.Discard, in) // ends when the client has read the answer
	}
}
