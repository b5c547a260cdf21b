package relayhttp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/store"
)

// endless is a backend whose answer is as long as a test wants.
type endless struct {
	failing
	rows   int           // in all
	size   int           // of each
	failAt int           // row at which the store fails; 0 is never
	cut    bool          // a limit kept something back
	page   chan struct{} // when not nil, each page waits for one
	pages  atomic.Int64  // asked for
}

type endlessRows struct {
	*endless
	at int
}

func (e *endless) Stored([]relay.Granted) Rows { return &endlessRows{endless: e} }

func (e *endless) Authorize(context.Context, gate.Surface, []nostr.Filter) ([]relay.Granted, error) {
	return nil, nil
}

func (r *endlessRows) More() bool { return r.cut }

func (r *endlessRows) Damaged() []store.Damaged { return nil }

func (r *endlessRows) Next(ctx context.Context, maxRows, maxBytes int) (rows []store.Row, done bool, err error) {
	r.pages.Add(1)
	if r.page != nil {
		select {
		case <-r.page:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
	for size := 0; r.at < r.rows && len(rows) < maxRows && size < maxBytes; r.at++ {
		if r.failAt > 0 && r.at >= r.failAt {
			return nil, false, errors.New("disk I/O error: /var/lib/secret")
		}
		text := append(fmt.Appendf(nil, `{"n":%d,"x":"`, r.at), bytes.Repeat([]byte("x"), r.size)...)
		rows = append(rows, store.Row{JSON: append(text, `"}`...)})
		size += r.size
	}
	return rows, r.at == r.rows, ctx.Err()
}

// query sends a signed /query over TCP.
func (w *world) query(t *testing.T, addr string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/query", strings.NewReader(anything))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", w.sign(agent, "POST", "/query", []byte(anything)))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func overBackend(t *testing.T, b Backend, change ...func(*Options)) *world {
	return newWorld(t, append(change, func(o *Options) { o.Backend = b })...)
}

// TestTruncatedIsHeaderOrTrailer: a small answer says in its header whether a
// limit cut it, a streamed one in its trailer.
func TestTruncatedIsHeaderOrTrailer(t *testing.T) {
	for _, tt := range []struct {
		name       string
		rows, size int
		cut        bool
		streamed   bool
	}{
		{"empty", 0, 0, false, false},
		{"empty and cut", 0, 0, true, false},
		{"small", 10, 10, false, false},
		{"small and cut", 10, 10, true, false},
		{"several pages, held", 1000, 100, true, false},
		{"large", 100, 10_000, false, true},
		{"large and cut", 100, 10_000, true, true},
		{"many", 10_000, 50, true, true},
		{"one that is larger than all that is held", 1, heldBytes + 1, true, false},
	} {
		w := overBackend(t, &endless{rows: tt.rows, size: tt.size, cut: tt.cut})
		resp := w.query(t, serve(t, w.Handler))
		header := resp.Header.Get(truncated)
		body, err := readAll(resp)
		var got []struct{ N int }
		if jsonErr := json.Unmarshal([]byte(body), &got); err != nil || jsonErr != nil || len(got) != tt.rows || got == nil {
			t.Errorf("%s: %d rows of %d, %v, %v", tt.name, len(got), tt.rows, err, jsonErr)
		}
		for i := range got {
			if got[i].N != i {
				t.Fatalf("%s: row %d at %d", tt.name, got[i].N, i)
			}
		}
		_, announced := resp.Trailer[truncated]
		trailer := resp.Trailer.Get(truncated)
		if (header == "true") != (tt.cut && !tt.streamed) || (trailer == "true") != (tt.cut && tt.streamed) || announced != tt.streamed {
			t.Errorf("%s: header %q, trailer %q, announced %v", tt.name, header, trailer, announced)
		}
		if (resp.ContentLength < 0) != tt.streamed || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: length %d, %v", tt.name, resp.ContentLength, resp.Header)
		}
	}
}

// TestFailureAfterTheFirstByte cuts the connection off: the array never ends,
// and the client's HTTP library says so.
func TestFailureAfterTheFirstByte(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/1.0"} {
		b := &endless{rows: 1000, size: 10_000, failAt: 900}
		m := metrics.New("test")
		w := overBackend(t, b, func(o *Options) { o.Metrics = m })
		conn := dial(t, serve(t, w.Handler))
		fmt.Fprintf(conn, "POST /query %s\r\nHost: a\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s",
			proto, w.sign(agent, "POST", "/query", []byte(anything)), len(anything), anything)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %v, %v", proto, resp, err)
		}
		body, err := readAll(resp)
		if proto == "HTTP/1.1" && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: the answer ended with %v", proto, err)
		}
		if len(body) < 100_000 || json.Valid([]byte(body)) || strings.Contains(body, "error") || strings.HasSuffix(strings.TrimSpace(body), "]") {
			t.Errorf("%s: %d bytes, ending in %q", proto, len(body), body[max(0, len(body)-20):])
		}
		if text := get(m.Handler(false), "GET", "/metrics").Body.String(); !strings.Contains(text, `{endpoint="query",status="2xx"} 1`) {
			t.Errorf("%s: an answer that was cut off is not counted", proto)
		}
	}
	b := &endless{rows: 1000, size: 10_000, failAt: 1}
	w := overBackend(t, b)
	wantProblem(t, "before the first byte", w.ask(agent, "POST", "/query", anything), 503, "error: ")
}

// TestFiveThousandLargestEngrams: an answer of 440 MB is read a page at a time,
// at the client's pace, in a few megabytes of memory.
func TestFiveThousandLargestEngrams(t *testing.T) {
	const size, bound = 88_000, 64 << 20
	b := &endless{rows: 5000, size: size}
	if testing.Short() {
		b.rows = 500
	}
	w := overBackend(t, b)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	resp := w.query(t, serve(t, w.Handler))
	defer resp.Body.Close()
	piece, total := make([]byte, 8<<20), 0
	for {
		n, err := io.ReadFull(resp.Body, piece)
		if total += n; err != nil {
			if !strings.HasSuffix(string(piece[:n]), `x"}]`+"\n") {
				t.Errorf("after %d bytes the answer ends with %v", total, err)
			}
			break
		}
		runtime.GC()
		if runtime.ReadMemStats(&now); now.HeapAlloc > before.HeapAlloc+bound {
			t.Fatalf("after %d bytes %d MiB are in use", total, now.HeapAlloc>>20)
		}
		// What was read from the store is with the client or in kernel buffers.
		if pages := int(b.pages.Load()); pages*pageBytes > total+bound {
			t.Fatalf("after %d bytes %d pages were read", total, pages)
		}
	}
	if total < b.rows*size {
		t.Errorf("%d bytes of %d", total, b.rows*size)
	}
}

// TestStalledReaderIsCutOff: who takes nothing is given a page or so, and after
// the stall his slot is free again.
func TestStalledReaderIsCutOff(t *testing.T) {
	t.Parallel()
	b := &endless{rows: 100_000, size: 10_000, page: make(chan struct{})}
	w := overBackend(t, b, func(o *Options) { o.Limits = Limits{Requests: 1, Stall: time.Second, Patience: 100 * time.Millisecond} })
	addr := serve(t, w.Handler)
	conn := dial(t, addr)
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST /query HTTP/1.1\r\nHost: a\r\nAuthorization: %s\r\nContent-Length: %d\r\n\r\n%s",
		w.sign(agent, "POST", "/query", []byte(anything)), len(anything), anything)
	b.page <- struct{}{} // then the answer has begun, and waits for the store
	first := make([]byte, 12)
	if _, err := io.ReadFull(conn, first); err != nil || string(first) != "HTTP/1.1 200" {
		t.Fatalf("%q, %v", first, err)
	}
	within(t, "the second page", func() bool { return b.pages.Load() == 2 }) // its place is taken again
	resp := w.query(t, addr)
	if body, err := readAll(resp); resp.StatusCode != 429 || err != nil || !strings.Contains(body, "rate-limited: ") {
		t.Errorf("while the only slot is taken: %d %s, %v", resp.StatusCode, body, err)
	}
	close(b.page)
	deadline := time.Now().Add(patience)
	for w.working() > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the slot of a reader that takes nothing is never free")
		}
		<-time.After(5 * time.Millisecond)
	}
	// Kernel buffers of both sides may hold some megabytes.
	if n := b.pages.Load(); n > 200 {
		t.Errorf("%d pages were read for nobody", n)
	}
}

// TestGoneReaderStopsTheQuery: nothing is read for who has hung up.
func TestGoneReaderStopsTheQuery(t *testing.T) {
	b := &endless{rows: 1000, size: 10_000, page: make(chan struct{})}
	w := overBackend(t, b)
	addr := serve(t, w.Handler)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", "http://"+addr+"/query", strings.NewReader(anything))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", w.sign(agent, "POST", "/query", []byte(anything)))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	deadline := time.Now().Add(patience)
	for b.pages.Load() == 0 && time.Now().Before(deadline) {
		<-time.After(time.Millisecond)
	}
	cancel()
	<-done
	for w.working() > 0 {
		if time.Now().After(deadline) {
			t.Fatal("the query goes on for a client that is gone")
		}
		<-time.After(5 * time.Millisecond)
	}
}
