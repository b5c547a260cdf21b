package websocket

import (
	"bufio"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"
)

// An idle connection, authenticated and with one subscription, takes at most 32
// KiB of resident memory (docs/benchmarks.md). Here both ends are in one process,
// and what is measured is live heap and stacks: the bound leaves room for the
// garbage that the collector allows beside them. How full the heap's pages are
// depends on when it collects, which varies on a busy machine: the best of three
// tries counts.
func TestIdleConnectionsAreCheap(t *testing.T) {
	const bound, tries = 20 << 10, 3
	per := int64(bound + 1)
	for try := 1; try <= tries && per > bound; try++ {
		t.Run(fmt.Sprint("try ", try), func(t *testing.T) { per = idleCost(t, 1000) })
	}
	if per > bound && !testing.Short() {
		t.Errorf("%d bytes per idle connection, want at most %d", per, bound)
	}
}

// idleCost is what each of n idle connections takes, in bytes.
func idleCost(t *testing.T, n int) int64 {
	t.Helper()
	r := start(t, &fake{}, Options{Limits: Limits{Connections: 2 * n}, Metrics: noMetrics})
	idleConn(t, r).Close() // pools are filled, code is warm
	before := inUse()
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = idleConn(t, r)
		defer conns[i].Close()
	}
	per := (inUse() - before) / int64(n)
	t.Logf("%d bytes per idle connection, the client's end included", per)
	if got := runtime.NumGoroutine(); got > n+100 {
		t.Errorf("%d goroutines for %d idle connections", got, n)
	}
	return per
}

func inUse() int64 {
	runtime.GC()
	runtime.GC() // the first one may have left stacks to shrink
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// idleConn is a client that has authenticated and subscribed, and of which
// nothing but the socket is left on this side.
func idleConn(t testing.TB, r *rig) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "ws://"))
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: relay\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	br := bufio.NewReader(conn)
	for line := ""; line != "\r\n"; {
		if line, err = br.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	challenge := strings.TrimSuffix(strings.TrimPrefix(rawFrame(t, br), `["AUTH","`), `"]`)
	auth := authEvent(t, alice, challenge)
	for _, frame := range []string{authFrame(auth), `["REQ","mine",{"kinds":[30174],"#p":["` + auth.PubKey + `"]}]`} {
		header := []byte{0x81, 0x80 | 126, byte(len(frame) >> 8), byte(len(frame)), 0, 0, 0, 0}
		conn.Write(append(header, frame...))
	}
	for _, want := range []string{okFrame(auth), `["EOSE","mine"]`} {
		if got := rawFrame(t, br); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	return conn
}

// rawFrame reads a short unmasked frame.
func rawFrame(t testing.TB, br *bufio.Reader) string {
	t.Helper()
	head := make([]byte, 2)
	if _, err := br.Read(head[:1]); err != nil {
		t.Fatal(err)
	}
	head[1], _ = br.ReadByte()
	n := int(head[1])
	if n == 126 {
		hi, _ := br.ReadByte()
		lo, _ := br.ReadByte()
		n = int(hi)<<8 | int(lo)
	}
	text := make([]byte, n)
	for i := range text {
		text[i], _ = br.ReadByte()
	}
	return string(text)
}

// BenchmarkIdle reports what 5,000 idle connections take.
func BenchmarkIdle(b *testing.B) {
	const n = 5000
	r := start(b, &fake{}, Options{Metrics: noMetrics})
	idleConn(b, r).Close()
	for b.Loop() {
		before := inUse()
		conns := make([]net.Conn, n)
		for i := range conns {
			conns[i] = idleConn(b, r)
		}
		b.ReportMetric(float64(inUse()-before)/n, "B/conn")
		for _, c := range conns {
			c.Close()
		}
	}
}
