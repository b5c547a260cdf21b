package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/daemon"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/management"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// stubborn is a command that ends only when it is told to.
type stubborn struct {
	base
	running chan struct{}
	end     chan struct{}
	sawEnd  chan error
}

func (s *stubborn) Run(ctx context.Context) error {
	close(s.running)
	<-ctx.Done()
	s.sawEnd <- context.Cause(ctx)
	<-s.end
	return nil
}

// TestSignalsEndACommand: the first signal ends its context, another within a
// second counts as the same one, a later one ends the process at once.
func TestSignalsEndACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 2)
		m := &Main{Signals: signals}
		cmd := &stubborn{base{}, make(chan struct{}), make(chan struct{}), make(chan error, 1)}
		defer close(cmd.end)
		result := make(chan error, 1)
		go func() { result <- m.run(t.Context(), cmd) }()
		<-cmd.running
		signals <- syscall.SIGINT
		if err := <-cmd.sawEnd; err == nil || !strings.Contains(err.Error(), "interrupt") {
			t.Errorf("cause %v", err)
		}
		time.Sleep(daemon.Together - time.Millisecond)
		signals <- syscall.SIGTERM
		synctest.Wait()
		if len(result) > 0 {
			t.Fatalf("a signal within %v ended it: %v", daemon.Together, <-result)
		}
		time.Sleep(time.Millisecond)
		signals <- syscall.SIGTERM
		if err := <-result; err == nil || !strings.Contains(err.Error(), "terminated") {
			t.Errorf("second signal: %v", err)
		}
	})
}

func TestOperandsAndFlagsInAnyOrder(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
		bad  bool
	}{
		{[]string{"a", "--data", "x"}, "a", false},
		{[]string{"--data=x", "a"}, "a", false},
		{[]string{"--", "--data"}, "--data", false},
		{[]string{"-"}, "-", false},
		{[]string{"a", "b"}, "", true},
		{[]string{"a", "--", "b"}, "", true},
		{[]string{"--data"}, "", true},
	} {
		got, err := newOptions("test", true).parse(c.args, 1)
		if (err != nil) != c.bad || strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, %v", c.args, got, err)
		}
		if c.bad && !errors.As(err, &wiring.UsageError{}) {
			t.Errorf("%q: %v is no usage error", c.args, err)
		}
	}
}

// TestMetricsKnowEveryLabel: every name that the gate and the store use is in
// the metrics' closed sets; otherwise it would be counted as "other".
func TestMetricsKnowEveryLabel(t *testing.T) {
	m := metrics.New("test")
	for c := gate.Class(0); c < 32; c++ {
		if name := c.String(); name != "unknown" {
			m.Relay.EventDone(name, "stored")
			m.Relay.GateDecision("req", name, "granted")
		}
	}
	for o := store.Stored; o <= store.Failed; o++ {
		m.Relay.EventDone("open", o.String())
	}
	for _, s := range gate.Surfaces() {
		m.Relay.GateDecision(s.String(), gate.RuleWildcard, nip01.PrefixRestricted)
	}
	m.Relay.GateDecision("live", gate.RuleWildcard, nip01.PrefixAuthRequired)
	for _, name := range management.Methods() {
		for _, outcome := range []string{"ok", "invalid", "restricted", "error"} {
			m.Admin.AdminCall(name, outcome)
		}
	}
	for _, reason := range []string{"ban", "operator", "retention"} {
		m.Store.Removed(reason, 1)
	}
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				if l.GetValue() == "other" {
					t.Errorf("%s counts something as other: %v", f.GetName(), metric.GetLabel())
				}
			}
		}
	}
}

func TestReachable(t *testing.T) {
	for listen, want := range map[string]string{
		"127.0.0.1:7447": "127.0.0.1:7447", "0.0.0.0:7447": "127.0.0.1:7447", ":7447": "127.0.0.1:7447",
		"[::]:7447": "localhost:7447", "[::1]:7447": "[::1]:7447", "example.com:80": "example.com:80",
	} {
		if got := reachable(listen); got != want {
			t.Errorf("%s: %s, want %s", listen, got, want)
		}
	}
}

// TestErrorsArePrintedLineByLine: joined errors each get the command's name.
func TestErrorsArePrintedLineByLine(t *testing.T) {
	var stderr bytes.Buffer
	m := &Main{Args: []string{"serve", "--listen", "x", "--limits-subscriptions", "0"}, Stderr: &stderr}
	if code := m.Main(t.Context()); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	if lines := strings.Count(stderr.String(), "engramd serve: --"); lines != 2 {
		t.Errorf("printed:\n%s", &stderr)
	}
}
