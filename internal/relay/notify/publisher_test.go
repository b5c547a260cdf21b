package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"engramd/internal/relay/metrics"
	"engramd/internal/relay/notify/natstest"
)

const (
	patience = 30 * time.Second
	agent    = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
)

// counts is what a publisher counted.
type counts struct {
	mu                    sync.Mutex
	sent, dropped, failed int
	up                    bool
	change                chan struct{}
}

func newCounts() *counts { return &counts{change: make(chan struct{}, 1)} }

func (c *counts) note(do func()) {
	c.mu.Lock()
	do()
	c.mu.Unlock()
	select {
	case c.change <- struct{}{}:
	default:
	}
}

func (c *counts) broker() *metrics.Broker {
	return &metrics.Broker{
		BrokerMessage: func(_ string, sent bool) {
			c.note(func() {
				if sent {
					c.sent++
				} else {
					c.dropped++
				}
			})
		},
		BrokerConnected: func(up bool) { c.note(func() { c.up = up }) },
		BrokerFailed:    func() { c.note(func() { c.failed++ }) },
	}
}

// await waits until a condition on the counts holds.
func (c *counts) await(t *testing.T, what string, is func() bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		done := is()
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-c.change:
		case <-timeout:
			t.Fatalf("%s: never; %d sent, %d dropped, %d failed, up %v", what, c.sent, c.dropped, c.failed, c.up)
		}
	}
}

func start(t *testing.T, o Options) (*Publisher, *counts) {
	t.Helper()
	c := newCounts()
	o.Observe, o.Retry = c.broker(), 5*time.Millisecond
	if o.Prefix == "" {
		o.Prefix = "engramd.snapshot"
	}
	if o.Clock == nil {
		o.Clock = func() time.Time { return time.Unix(1_700_000_000, 0) }
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		p.Close(ctx)
	})
	return p, c
}

func next(t *testing.T, messages <-chan *nats.Msg) *nats.Msg {
	t.Helper()
	select {
	case m := <-messages:
		return m
	case <-time.After(patience):
		t.Fatal("no message came")
		return nil
	}
}

// TestPayloads compares subjects and payloads with those in docs/events.md.
func TestPayloads(t *testing.T) {
	server := natstest.Start(t)
	all := server.Subscribe(">")
	p, _ := start(t, Options{URL: server.URL})
	p.Created(Created{Agent: agent, Tenant: "default", ID: "20231114T221320Z-0011223344556677", Label: "before the move", CreatedBy: "cli",
		Events: 128, Size: 65536, SHA256: strings.Repeat("ab", 32), Encrypted: true, Verified: true})
	p.Restored(Restored{Agent: agent, Tenant: "default", ID: "20231114T221320Z-0011223344556677", Mode: "rollback",
		PreSnapshot: "20231115T080000Z-8899aabbccddeeff", Written: 12, Quarantined: 3})
	p.Deleted(Deleted{Agent: agent, Tenant: "default", ID: "20231114T221320Z-0011223344556677"})
	p.GC(GC{Deleted: 2, Staging: 1, Agents: 7})
	p.Mutated(agent, 30174, 132)
	docs, err := os.ReadFile("../../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"engramd.snapshot." + agent + ".created", "engramd.snapshot." + agent + ".restored",
		"engramd.snapshot." + agent + ".deleted", "engramd.snapshot._all.gc", "engramd.mutated." + agent} {
		m := next(t, all)
		if m.Subject != want {
			t.Errorf("subject %s, want %s", m.Subject, want)
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, m.Data, "", "  "); err != nil {
			t.Fatalf("%s: %v", m.Subject, err)
		}
		if !strings.Contains(string(docs), "```json\n"+pretty.String()+"\n```") {
			t.Errorf("docs/events.md does not show the payload of %s:\n%s", m.Subject, pretty.String())
		}
	}
}

// TestBrokerComesAndGoes: messages of the time when the broker is away arrive
// in order once it is back, and no caller waits.
func TestBrokerComesAndGoes(t *testing.T) {
	server := natstest.Start(t)
	p, c := start(t, Options{URL: server.URL, Prefix: "other.prefix"})
	got := server.Subscribe("other.prefix.*.deleted")
	c.await(t, "connected", func() bool { return c.up })
	for round, id := range []string{"a", "b", "c"} {
		p.Deleted(Deleted{Agent: agent, ID: id})
		if m := next(t, got); !strings.Contains(string(m.Data), `"id":"`+id+`"`) {
			t.Fatalf("round %d: %s", round, m.Data)
		}
		server.Kill()
		c.await(t, "lost", func() bool { return !c.up && c.failed > 2*round })
		start := time.Now()
		for range 10_000 {
			p.Mutated(agent, 30174, 1)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("telling a broker that is away took %v", took)
		}
		server.Restart()
		got = server.Subscribe("other.prefix.*.deleted") // and only then: a subscription does not outlive its server
		c.await(t, "back", func() bool { return c.up })
		// Before, the next message would be dropped.
		c.await(t, "the queue is empty", func() bool { return c.sent+c.dropped == (round+1)*(10_000+1) })
	}
	if c.dropped == 0 || c.sent < 1024 {
		t.Errorf("%d sent, %d dropped", c.sent, c.dropped)
	}
}

// TestNoBroker: nothing listens, or a server that is silent, speaks another
// protocol, or hangs up.
func TestNoBroker(t *testing.T) {
	for name, behave := range map[string]func(net.Conn){
		"refused": nil,
		"silent":  func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"http":    func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
		"hung up": func(c net.Conn) {},
		"liar":    func(c net.Conn) { _, _ = io.WriteString(c, "INFO {\"max_payload\":1}\r\nPONG\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if behave == nil {
				l.Close()
			} else {
				defer l.Close()
				go func() {
					for {
						conn, err := l.Accept()
						if err != nil {
							return
						}
						go func() { defer conn.Close(); behave(conn) }()
					}
				}()
			}
			var log bytes.Buffer
			c := newCounts()
			p, err := New(Options{URL: "nats://" + l.Addr().String(), Prefix: "p", Queue: 8, Observe: c.broker(), Retry: time.Millisecond,
				Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			for range 100 {
				p.Mutated(agent, 30174, 1)
			}
			if name != "silent" { // this one takes the whole time limit of connecting
				c.await(t, "failed", func() bool { return c.failed >= 5 })
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			p.Close(ctx)
			if ctx.Err() != nil {
				t.Fatal("it does not end")
			}
			p.Mutated(agent, 30174, 1) // after the end: dropped
			if c.sent != 0 || c.dropped != 101 || c.up {
				t.Errorf("%d sent, %d dropped, up %v", c.sent, c.dropped, c.up)
			}
			if lines := strings.Count(log.String(), "\n"); lines == 0 || lines > 2+c.failed/2 {
				t.Errorf("%d lines of log for %d failures:\n%s", lines, c.failed, log.String())
			}
		})
	}
}

// TestBrokerHangs: a broker that accepts nothing delays no caller, and closing
// takes bounded time.
func TestBrokerHangs(t *testing.T) {
	server := natstest.Start(t)
	p, c := start(t, Options{URL: server.URL})
	c.await(t, "connected", func() bool { return c.up })
	server.Hang()
	defer server.Continue()
	began := time.Now()
	for range 300_000 {
		p.Mutated(agent, 30174, 1)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("telling a broker that hangs took %v", took)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	p.Close(ctx)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("closing took %v", took)
	}
}

// TestCredentials: an nkey from a file; without it, the broker refuses.
func TestCredentials(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := user.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, config := filepath.Join(dir, "user.nk"), filepath.Join(dir, "server.conf")
	for path, text := range map[string]string{file: string(seed) + "\n", config: "authorization { users: [{ nkey: " + public + " }] }\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := natstest.Start(t, "-c", config)
	login, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		t.Fatal(err)
	}
	got := server.Subscribe("engramd.mutated.*", login)
	_, refused := start(t, Options{URL: server.URL})
	refused.await(t, "refused", func() bool { return refused.failed > 2 })
	p, _ := start(t, Options{URL: server.URL, Credentials: file})
	p.Mutated(agent, 30174, 5)
	next(t, got)
}

func TestOptions(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk")
	if err := os.WriteFile(junk, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		o    Options
		want error
	}{
		{Options{URL: "nats://user:secret@host:4222", Prefix: "p"}, ErrURL},
		{Options{URL: "http://host", Prefix: "p"}, ErrURL},
		{Options{URL: "nats://", Prefix: "p"}, ErrURL},
		{Options{URL: "nats://a:1,", Prefix: "p"}, ErrURL},
		{Options{URL: "nats://a:1", Prefix: ""}, ErrPrefix},
		{Options{URL: "nats://a:1", Prefix: "a..b"}, ErrPrefix},
		{Options{URL: "nats://a:1", Prefix: "a.*"}, ErrPrefix},
		{Options{URL: "nats://a:1", Prefix: "a b"}, ErrPrefix},
		{Options{URL: "nats://a:1", Prefix: "p", Credentials: filepath.Join(dir, "none")}, ErrCredentials},
		{Options{URL: "nats://a:1", Prefix: "p", Credentials: dir}, ErrCredentials},
		{Options{URL: "nats://a:1", Prefix: "p", Credentials: junk}, ErrCredentials},
	} {
		p, err := New(tc.o)
		if !errors.Is(err, tc.want) || p != nil {
			t.Errorf("%+v: %v, want %v", tc.o, err, tc.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret@") {
			t.Errorf("the error holds a password: %v", err)
		}
	}
}

// TestNil: without a broker in the configuration there is no Publisher, and
// every method does nothing.
func TestNil(t *testing.T) {
	var p *Publisher
	p.Created(Created{})
	p.Restored(Restored{})
	p.Deleted(Deleted{})
	p.GC(GC{})
	p.Mutated(agent, 1, 2)
	p.Close(t.Context())
}

// BenchmarkMutated is the cost of one event to a write, with a connected broker
// and without one.
func BenchmarkMutated(b *testing.B) {
	b.Run("off", func(b *testing.B) {
		var p *Publisher
		for b.Loop() {
			p.Mutated(agent, 30174, 500)
		}
	})
	b.Run("down", func(b *testing.B) {
		p, err := New(Options{URL: "nats://127.0.0.1:1", Prefix: "p"})
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close(context.Background())
		b.ReportAllocs()
		for b.Loop() {
			p.Mutated(agent, 30174, 500)
		}
	})
	b.Run("up", func(b *testing.B) {
		server := natstest.Start(b)
		p, err := New(Options{URL: server.URL, Prefix: "p", Queue: 1 << 16})
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close(context.Background())
		b.ReportAllocs()
		for b.Loop() {
			p.Mutated(agent, 30174, 500)
		}
	})
}
