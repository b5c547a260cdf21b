package replica

import (
	"encoding/json"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// wire is a connection to a relay that can be cut.
type wire struct {
	l     net.Listener
	bytes atomic.Int64 // that went over it, both ways

	mu    sync.Mutex
	to    string // "": nowhere yet
	down  bool
	conns []net.Conn
}

func newWire(t *testing.T) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{l: l}
	t.Cleanup(func() { l.Close(); w.cut() })
	go w.run()
	return w
}

// counted counts the bytes that are written to it.
type counted atomic.Int64

func (c *counted) Write(p []byte) (int, error) {
	(*atomic.Int64)(c).Add(int64(len(p)))
	return len(p), nil
}

func (w *wire) url() string { return "ws://" + w.l.Addr().String() }

func (w *wire) run() {
	for {
		in, err := w.l.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		to := w.to
		w.mu.Unlock()
		out, err := net.Dial("tcp", to)
		w.mu.Lock()
		if err != nil || w.down {
			in.Close()
			if err == nil {
				out.Close()
			}
			w.mu.Unlock()
			continue
		}
		w.conns = append(w.conns, in, out)
		w.mu.Unlock()
		for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				io.Copy(io.MultiWriter(way[0], (*counted)(&w.bytes)), way[1])
				way[0].Close()
				way[1].Close()
			}()
		}
	}
}

// leadTo says where the way leads.
func (w *wire) leadTo(to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = to
}

// cut ends every connection, and lets none through until mend.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for _, c := range w.conns {
		c.Close()
	}
	w.conns = nil
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

// history returns the ids in the answer to a question for history.
func (g *ring) history(c *rig.Caller, as relaytest.Key, path string) (ids []string) {
	g.t.Helper()
	resp, err := c.Signed(&as, "GET", path, nil)
	var events []struct{ ID string }
	if err != nil || resp.Status != 200 || json.Unmarshal(resp.Body, &events) != nil {
		g.t.Fatalf("%s: %d %s %v", path, resp.Status, resp.Body, err)
	}
	for _, ev := range events {
		ids = append(ids, ev.ID)
	}
	slices.Sort(ids)
	return ids
}
