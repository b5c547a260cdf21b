package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/protocol/wire"
)

// idleRelay is the environment variable that makes the test binary a relay in a
// process of its own, so that its memory can be measured. Its value is the
// challenge.
const idleRelay = "LOAD_TEST_IDLE_RELAY"

func TestMain(m *testing.M) {
	if challenge := os.Getenv(idleRelay); challenge != "" {
		fmt.Fprintln(os.Stderr, beIdleRelay(challenge))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// beIdleRelay serves until it is killed.
func beIdleRelay(challenge string) error {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("ws://%s\n", socket.Addr())
	return http.Serve(socket, (&hub{challenge: challenge}).handler(&sync.WaitGroup{}))
}

func startIdleRelay(t *testing.T) Target {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), idleRelay+"=who")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return Target{URL: strings.TrimSpace(url), PID: cmd.Process.Pid}
}

func TestIdleGivesFigures(t *testing.T) {
	t.Parallel()
	r, err := mustFind(t, "idle").Run(context.Background(), startIdleRelay(t), Options{Count: 400, Warmup: 10, Seed: testSeed})
	if err != nil {
		t.Fatal(err)
	}
	// Two buffers of 4 KiB at least, and no more than a relay in Go takes.
	for _, name := range []string{"kib_per_connection", "anonymous_kib_per_connection", "total_kib_per_connection"} {
		if kib := r.Extra[name]; kib < 8 || kib > 400 {
			t.Errorf("%s is %v", name, kib)
		}
	}
	if r.Count != 400 || r.Rate <= 0 || r.RSSAfter <= r.RSSBefore {
		t.Errorf("%+v", r)
	}
}

func TestIdleFindsWrongAnswers(t *testing.T) {
	closed := func(f wire.Frame) bool { return f.Label == wire.LabelReq && f.SubID == liveSub }
	for name, tt := range map[string]struct {
		relay *hub
		pid   int
		want  error
	}{
		"no challenge": {&hub{}, os.Getpid(), ErrRefused},
		"no pid":       {&hub{challenge: "who"}, 0, ErrOptions},
		"an ended pid": {&hub{challenge: "who"}, 1 << 30, errAny},
		"one is closed": {&hub{challenge: "who", answer: func(f wire.Frame, n int, m [][]byte) [][]byte {
			if closed(f) && n == 7 {
				return append(m, hangUp)
			}
			return m
		}}, os.Getpid(), ErrClosed},
		"one is refused": {&hub{challenge: "who", answer: func(f wire.Frame, n int, m [][]byte) [][]byte {
			if closed(f) && n == 7 {
				return [][]byte{wire.AppendClosed(nil, f.SubID, "error: full")}
			}
			return m
		}}, os.Getpid(), ErrRefused},
		"one gets an event": {&hub{challenge: "who", answer: func(f wire.Frame, n int, m [][]byte) [][]byte {
			if closed(f) && n == 7 {
				return append(m, []byte(`["EVENT","live",{"id":"`+strings.Repeat("0", 64)+`"}]`))
			}
			return m
		}}, os.Getpid(), ErrWrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hub{challenge: tt.relay.challenge, answer: tt.relay.answer}
			h.start(t)
			r, err := mustFind(t, "idle").Run(context.Background(), Target{URL: h.url, PID: tt.pid},
				Options{Count: 12, Connections: 3, Warmup: -1, Seed: testSeed, Timeout: 30 * time.Second})
			if !errors.Is(err, tt.want) && (tt.want != errAny || err == nil) || r.Count != 0 {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

func TestEnoughFiles(t *testing.T) {
	if err := enoughFiles(1 << 40); !errors.Is(err, ErrOptions) {
		t.Errorf("got %v", err)
	}
	if err := enoughFiles(1); err != nil {
		t.Error(err)
	}
}
