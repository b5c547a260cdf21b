package websocket

import (
	"context"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"engramd/internal/relay"
	"engramd/internal/relay/logging/redact"
)

// record is what a connection leaves in the log and in Server.Status. Whoever
// works for the connection writes it, anybody reads it.
type record struct {
	srv    *Server
	net    *transport
	number uint64 // of the connections of this run
	addr   netip.Addr
	opened time.Time

	framesIn, framesOut atomic.Int64
	keys                atomic.Pointer[string] // tags of the proved ones
	why                 atomic.Pointer[string] // it ended; the first reason that was given
}

// because notes why the connection ends, unless something did before.
func (r *record) because(why string) {
	if why != "" {
		r.why.CompareAndSwap(nil, &why)
	}
}

// nobody is who has proved no key.
const nobody = "nobody"

// who returns the tags of the keys that the client has proved.
func (r *record) who() string {
	if keys := r.keys.Load(); keys != nil {
		return *keys
	}
	return nobody
}

func (r *record) reason() string {
	if why := r.why.Load(); why != nil {
		return *why
	}
	return "the client went away"
}

// debugs reports whether lines at level debug are wanted: what is logged for
// single messages is not even put together otherwise.
func (s *Server) debugs() bool { return s.o.Log.Enabled(context.Background(), slog.LevelDebug) }

// opened and ended are the two lines of a connection; the second one may be
// wanted in the access log, too.
func (r *record) logOpened() {
	if r.srv.debugs() {
		r.srv.o.Log.Debug("connection opened", "conn", r.number, "addr", r.addr)
	}
}

func (r *record) logEnded() {
	debug, access := r.srv.debugs(), r.srv.access.Load()
	if !debug && !access {
		return
	}
	took := r.srv.o.Now().Sub(r.opened).Round(time.Millisecond)
	in, out := r.net.in.Load(), r.net.out.Load()
	if access {
		r.srv.o.Log.Info(redact.Access, "addr", r.addr, "who", r.who(), "method", "GET", "endpoint", "websocket", "status", 101,
			"bytes_in", in, "bytes", out, "took", took)
	}
	if debug {
		r.srv.o.Log.Debug("connection closed", "conn", r.number, "addr", r.addr, "who", r.who(), "why", r.reason(), "took", took,
			"frames_in", r.framesIn.Load(), "frames_out", r.framesOut.Load(), "bytes_in", in, "bytes_out", out)
	}
}

// logRefused tells of a message that was answered with a refusal.
func (r *record) logRefused(label, text string) {
	if r.srv.debugs() {
		r.srv.o.Log.Debug("refused", "conn", r.number, "addr", r.addr, "who", r.who(), "what", label, "reason", redact.Reason(text))
	}
}

// logAuth tells how an AUTH went.
func (r *record) logAuth(tag string, err error) {
	if !r.srv.debugs() {
		return
	}
	if err != nil {
		r.srv.o.Log.Debug("AUTH refused", "conn", r.number, "addr", r.addr, "who", r.who(), "reason", redact.Reason(err.Error()))
		return
	}
	r.srv.o.Log.Debug("AUTH", "conn", r.number, "addr", r.addr, "key", tag)
}

// SetAccess turns the access log on or off, for connections that end from now
// on.
func (s *Server) SetAccess(on bool) { s.access.Store(on) }

// proved brings the tags of who is asking up to date.
func (r *record) proved(ctx context.Context) {
	tags := r.srv.o.Tags.List(relay.ReaderFrom(ctx).Keys())
	r.keys.Store(&tags)
}
