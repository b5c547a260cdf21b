//go:build unix

package doctor

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/agent/harness"
	"engramd/internal/agent/hook"
)

// TestDoctorRunsWhatIsInstalled: slow, silent, broken and hanging hooks and
// servers are told apart.
func TestDoctorRunsWhatIsInstalled(t *testing.T) {
	program := func(text string) string {
		path := filepath.Join(t.TempDir(), "engramctl")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const hang = "exec tail -f /dev/null\n"
	answer := func(size int) string {
		return `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"instructions":"` + strings.Repeat("x", size) + `"}}'; cat >/dev/null` + "\n"
	}
	server := func(text string) func(*doctor) {
		return func(d *doctor) { d.mcpServer(context.Background(), "claude", program(text), "", "") }
	}
	start := func(text string) func(*doctor) {
		return func(d *doctor) {
			d.hook(context.Background(), "claude", harness.Status{Binary: program(text), Profile: "p"}, hook.SessionStart)
		}
	}
	brief := func(check func(*doctor)) func(*doctor) {
		return func(d *doctor) { d.env.Flags.Timeout = 300 * time.Millisecond; check(d) }
	}
	for name, c := range map[string]struct {
		check func(*doctor)
		want  state
		text  string
	}{
		"server":                {server(answer(100)), fine, "100 bytes of instructions"},
		"server that says much": {server(answer(3000)), warned, "3000 bytes"},
		"server that is silent": {server("exit 0\n"), failed, "does not introduce itself"},
		"server that says less": {server(answer(0)), failed, "does not introduce itself"},
		"server that fails":     {server("exit 2\n"), failed, "exit status 2"},
		"server that hangs":     {brief(server(hang)), failed, "did not end"},
		"hook":                  {start(`[ "$*" = "--profile p hook session-start --harness claude" ] && [ -n "$XDG_STATE_HOME" ] && grep -q engramctl-doctor` + "\n"), fine, "claude session-start took"},
		"hook that fails":       {start("exit 2\n"), failed, "exit status 2"},
		"hook that hangs":       {brief(start(hang)), failed, "did not end"},
		"hook without a memory": {start("echo '[Agent Memory — unavailable]'\n"), failed, "unavailable"},
		"hook that is not there": {func(d *doctor) {
			d.hook(context.Background(), "claude", harness.Status{Binary: "/nowhere"}, hook.Prompt)
		}, failed, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := only(t, c.check); got.State != c.want || !strings.Contains(got.Text, c.text) {
				t.Errorf("%+v", got)
			}
		})
	}
}
