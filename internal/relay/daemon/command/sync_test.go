package command

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"engramd/internal/relay/policy"
	"engramd/internal/relay/replica"
)

// TestSyncMissed: a single pass fails when an event that the relay shows did
// not arrive, and not for what concerns that relay alone.
func TestSyncMissed(t *testing.T) {
	elsewhere := map[string]int64{policy.NotAddressed: 1}
	for want, got := range map[string]replica.Status{
		"":                           {State: replica.Waiting, Taken: 3, Refused: map[string]int64{"invalid": 1}, Reasons: elsewhere},
		"1 events were refused":      {State: replica.Waiting, Refused: map[string]int64{"invalid": 2}, Reasons: elsewhere},
		"not all that it names came": {State: replica.Waiting, Incomplete: true, Why: "not all that it names came"},
		"cannot connect":             {State: replica.Failed, Why: "cannot connect", Taken: 3},
	} {
		text := ""
		if err := missed(got); err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%+v: %q, want %q", got, text, want)
		}
	}
	if err := missed(replica.Status{State: replica.Waiting, NoHistory: true, Why: "no history"}); err != nil {
		t.Errorf("without history: %v", err)
	}
}

// awaited is a writer that closes seen when it has received so much text.
type awaited struct {
	mu   sync.Mutex
	text bytes.Buffer
	want string
	seen chan struct{}
	once sync.Once
}

func awaiting(want string) *awaited { return &awaited{want: want, seen: make(chan struct{})} }

func (a *awaited) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.text.Write(p)
	if strings.Contains(a.text.String(), a.want) {
		a.once.Do(func() { close(a.seen) })
	}
	return n, err
}

func (a *awaited) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text.String()
}

// TestSyncShowsProgress: at a terminal a person sees the progress, whether the
// pass is made here or by the running relay, and it is erased in the end.
// Without a terminal there is none.
func TestSyncShowsProgress(t *testing.T) {
	const line = ": 0 taken, 0 known, 0 deleted here, 0 refused, "
	sync := func(t *testing.T, dir string, terminal bool) {
		stderr, stdout := awaiting(line), awaiting("\n")
		source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if terminal { // until it was seen
				select {
				case <-stderr.seen:
				case <-r.Context().Done():
				}
			}
			w.WriteHeader(http.StatusTeapot)
		}))
		defer source.Close()
		url := "ws" + strings.TrimPrefix(source.URL, "http")
		m := &Main{Args: []string{"sync", "--data", dir, url}, Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Terminal: terminal}
		if code := m.Main(t.Context()); code != exitFailure || !strings.HasPrefix(stdout.String(), url+": 0 taken") {
			t.Errorf("exit code %d, %q", code, stdout.String())
		}
		before, after, shown := strings.Cut(stderr.String(), "\r\x1b[K"+url+line)
		if shown != terminal || shown && (before != "" || !strings.Contains(after, "s\r\x1b[Kengramd sync: ")) {
			t.Errorf("terminal %v: %q", terminal, stderr.String())
		}
	}
	for _, terminal := range []bool{true, false} {
		sync(t, t.TempDir(), terminal)
	}
	dir, log, signals, ended := t.TempDir(), awaiting("msg=ready"), make(chan os.Signal, 1), make(chan int, 1)
	m := &Main{Args: []string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--metrics-listen", "", "--timeouts-shutdown", "1m"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: log, Signals: signals}
	go func() { ended <- m.Main(t.Context()) }()
	select {
	case <-log.seen:
	case code := <-ended:
		t.Fatalf("exit code %d: %s", code, log)
	}
	for _, terminal := range []bool{true, false} {
		sync(t, dir, terminal)
	}
	signals <- syscall.SIGTERM
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d: %s", code, log)
	}
}
