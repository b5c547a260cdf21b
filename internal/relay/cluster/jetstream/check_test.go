package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"engramd/internal/relay/cluster"
)

func unconnected() *Conn {
	return &Conn{setup: setup{o: Options{Replicas: 3, Stream: "LOG", Log: slog.New(slog.DiscardHandler)}}}
}

// The stream as it is created passes; any other value of a setting that matters
// is refused by name.
func TestFaults(t *testing.T) {
	c := unconnected()
	if err := c.faults(c.config()); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"sealed":                  func(s *jetstream.StreamConfig) { s.Sealed = true },
		"no_ack":                  func(s *jetstream.StreamConfig) { s.NoAck = true },
		"mirror":                  func(s *jetstream.StreamConfig) { s.Mirror = &jetstream.StreamSource{} },
		"sources":                 func(s *jetstream.StreamConfig) { s.Sources = []*jetstream.StreamSource{{}} },
		"subject_transform":       func(s *jetstream.StreamConfig) { s.SubjectTransform = &jetstream.SubjectTransformConfig{} },
		"allow_msg_counter":       func(s *jetstream.StreamConfig) { s.AllowMsgCounter = true },
		"allow_msg_schedules":     func(s *jetstream.StreamConfig) { s.AllowMsgSchedules = true },
		"allow_batched":           func(s *jetstream.StreamConfig) { s.AllowBatchPublish = true },
		"discard_new_per_subject": func(s *jetstream.StreamConfig) { s.DiscardNewPerSubject = true },
		"max_consumers":           func(s *jetstream.StreamConfig) { s.MaxConsumers = 2 },
		"persist_mode":            func(s *jetstream.StreamConfig) { s.PersistMode = jetstream.AsyncPersistMode },
	} {
		s := c.config()
		change(&s)
		if err := c.faults(s); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), name+" is") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server that keeps the log must be asked; one that does not answer must be
// known to be gone.
func TestKeepers(t *testing.T) {
	c := unconnected()
	info := func(offline bool) *jetstream.ClusterInfo {
		return &jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{
			{Name: "b", Current: true, Active: time.Second}, {Name: "c", Current: true, Active: time.Second, Offline: offline}}}
	}
	names, dead, err := c.keepers(info(false))
	if err != nil || len(names) != 3 || len(dead) != 0 {
		t.Fatalf("%v %v %v", names, dead, err)
	}
	urls := []string{"http://127.0.0.1:1"}
	open := func(is *jetstream.ClusterInfo, silent int, asked ...string) error {
		names, dead, _ := c.keepers(is)
		v := Survey{Silent: make([]error, silent)}
		for _, name := range names {
			s := Server{Name: name, Keeps: true, Known: slices.Contains(asked, name), gone: slices.Contains(dead, name)}
			if !s.Known {
				s.Fault = errSilent
			}
			v.Servers = append(v.Servers, s)
		}
		return v.open(urls)
	}
	if err := open(info(false), 0, "a", "b", "c"); err != nil {
		t.Errorf("all were asked: %v", err)
	}
	if err := open(info(false), 0, "a", "b"); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "server c") {
		t.Errorf("no URL of c: %v", err)
	}
	if err := open(info(false), 1, "a", "b"); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("c lives and does not answer: %v", err)
	}
	if open(info(true), 1, "a", "b") != nil {
		t.Error("c is dead, and its silence counts")
	}
	for active, is := range map[time.Duration]bool{0: true, time.Second: false, time.Minute: true} {
		if gone(&jetstream.PeerInfo{Active: active}) != is {
			t.Errorf("heard of %v ago: gone is %v", active, !is)
		}
	}
	if _, _, err := c.keepers(&jetstream.ClusterInfo{Replicas: info(false).Replicas}); err == nil {
		t.Error("no leader, and it is verified")
	}
	if _, _, err := c.keepers(&jetstream.ClusterInfo{Leader: "a"}); err == nil {
		t.Error("one server of three keeps the log")
	}
}

// A server of a monitoring URL that fails is not one without a URL, and those that should
// keep the log and are not named count as unknown.
func TestSurveyUnknown(t *testing.T) {
	monitor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/varz":
			fmt.Fprintf(w, `{"server_name":"a","version":"2.12.1","max_payload":%d}`, minPayload)
		case "/jsz":
			fmt.Fprint(w, `{"config":{"sync_always":true}}`)
		}
	}))
	defer monitor.Close()
	failing := httptest.NewServer(http.NotFoundHandler())
	defer failing.Close()
	for _, tt := range []struct {
		what        string
		urls, names []string
		dead        []string
		trouble     error
		unknown     int
		fault       error // of b
	}{
		{"no URL", []string{monitor.URL}, []string{"a", "b"}, nil, nil, 1, ErrUnlisted},
		{"a URL that fails", []string{monitor.URL, failing.URL}, []string{"a", "b"}, nil, nil, 1, ErrUntold},
		{"a dead server", []string{monitor.URL, failing.URL}, []string{"a", "b"}, []string{"b"}, nil, 1, errSilent},
		{"a peer is missing", []string{monitor.URL, failing.URL}, []string{"a", "b"}, nil, errors.New("2 of 3"), 2, ErrUntold},
		{"no leader", []string{monitor.URL}, nil, nil, errors.New("no leader"), 3, nil},
	} {
		c := unconnected()
		c.o.Monitor = tt.urls
		v := Survey{Trouble: tt.trouble}
		err := c.ask(t.Context(), &v, tt.names, tt.dead)
		v.count(&c.o, len(tt.names))
		var fault error
		for _, s := range v.Servers {
			if s.Name == "b" {
				fault = s.Fault
			} else if s.Fault != nil || !s.Known {
				t.Errorf("%s: %+v", tt.what, s)
			}
		}
		if err != nil || v.Unknown != tt.unknown || fault != tt.fault || len(v.Silent) != len(tt.urls)-1 {
			t.Errorf("%s: %v, %d unknown, %v, %v", tt.what, err, v.Unknown, fault, v.Silent)
		}
	}
}

// A server in reserve refuses no start, but the making of a stream, which may get there.
func TestFaultyInReserve(t *testing.T) {
	c := unconnected()
	c.o.SystemCredentials = "system.nk"
	loose := errors.New("it does not sync")
	a, d := Server{Name: "a", Keeps: true, Known: true}, Server{Name: "d", Known: true, Fault: loose}
	if err := faulty(c, []Server{a, d}); err != nil {
		t.Errorf("in reserve: %v", err)
	}
	d.Keeps = true
	if err := faulty(c, []Server{a, d}); err != loose {
		t.Errorf("it keeps the log: %v", err)
	}
	a.Keeps, d.Keeps = false, false
	if err := faulty(c, []Server{a, d}); err != loose {
		t.Errorf("there is no stream yet: %v", err)
	}
}

// What was known last of a server that keeps the log counts as long as nothing else is
// known of it, and as long as it keeps the log.
func TestKnownLast(t *testing.T) {
	known := map[string]bool{}
	see := func(what string, want string, servers ...Server) {
		t.Helper()
		v := Survey{Servers: servers}
		v.remember(known)
		if got := strings.Join(v.Unsynced, " "); got != want {
			t.Errorf("%s: %q do not sync, want %q", what, got, want)
		}
	}
	a, b, c := Server{Name: "a", Keeps: true, Known: true}, Server{Name: "b", Keeps: true, Known: true}, Server{Name: "c", Keeps: true, Known: true}
	loose := func(s Server) Server { s.Loose = true; return s }
	silent := func(s Server) Server { s.Known = false; return s }
	spare := func(s Server) Server { s.Keeps = false; return s }
	see("all sync", "", a, b, c)
	see("one does not", "c", a, b, loose(c))
	see("it is silent", "c", a, b, silent(c))
	see("the stream has no leader", "c", spare(a), spare(b))
	see("another one too", "b c", a, loose(b), silent(c))
	see("one is mended", "c", a, b, silent(c))
	see("it is known by its URL alone, and mended", "", spare(a), spare(b), spare(c))
	see("it is worse again", "c", a, b, loose(c))
	see("another one has its copy", "", a, b, silent(Server{Name: "d", Keeps: true}), spare(loose(c)))
	see("one in reserve does not sync", "", a, b, c, spare(loose(Server{Name: "d", Known: true})))
}

// An answer of the log is a number, a refusal, or unknown.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		text    string
		header  nats.Header
		number  uint64
		unknown bool
		err     error
	}{
		{text: `{"stream":"LOG","seq":7}`, number: 7},
		{text: `{"stream":"OTHER","seq":7}`, unknown: true},
		{text: `{"stream":"LOG"}`, unknown: true},
		{text: `nonsense`, unknown: true},
		{text: ``, unknown: true},
		{text: `{"error":{"code":400,"err_code":10077,"description":"maximum bytes exceeded"}}`, err: &jetstream.APIError{ErrorCode: 10077}},
		{header: nats.Header{"Status": {"503"}}, err: ErrNoLeader},
	} {
		number, err := readAnswer(&nats.Msg{Data: []byte(tt.text), Header: tt.header}, "LOG")
		wrong := number != tt.number || errors.Is(err, cluster.ErrUnknown) != tt.unknown || tt.err != nil && !errors.Is(err, tt.err) ||
			(err == nil) != (tt.number > 0)
		if wrong {
			t.Errorf("%q %v: %d %v", tt.text, tt.header, number, err)
		}
	}
}
