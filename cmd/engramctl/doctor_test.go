package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/harness"
	"engramd/internal/hook"
)

// only returns the one finding of a check.
func only(t *testing.T, check func(d *doctor)) finding {
	t.Helper()
	a := newApp(&Main{Env: []string{"PATH=" + os.Getenv("PATH")}})
	a.flags.timeout = 30 * time.Second
	d := &doctor{app: a}
	check(d)
	if len(d.found) != 1 {
		t.Fatalf("%d findings: %v", len(d.found), d.found)
	}
	return d.found[0]
}

func TestDoctorClock(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		off  time.Duration
		want state
		text string
	}{
		{0, fine, ""}, {3 * time.Second, fine, ""}, {-time.Minute, warned, "1m0s behind"}, {time.Minute, warned, "1m0s ahead"},
		{time.Hour, failed, "1h0m0s ahead"}, {-time.Hour, failed, "1h0m0s behind"},
	} {
		got := only(t, func(d *doctor) { d.clock("wss://a.example", now, now.Add(c.off)) })
		if got.State != c.want || !strings.Contains(got.Text, c.text) || (c.want != fine) != (got.Remedy != "") {
			t.Errorf("%v: %+v", c.off, got)
		}
	}
	if got := only(t, func(d *doctor) { d.clock("wss://a.example", time.Time{}, now) }); got.State != untried {
		t.Errorf("without a date: %+v", got)
	}
}

func TestDoctorVersion(t *testing.T) {
	for _, c := range []struct {
		info client.RelayInfo
		want state
	}{
		{client.RelayInfo{Software: "pkg:generic/engramd", Version: version}, fine},
		{client.RelayInfo{Software: "pkg:generic/engramd", Version: "v0.0.1"}, warned},
		{client.RelayInfo{Software: "strfry", Version: version}, warned},
	} {
		if got := only(t, func(d *doctor) { d.version("wss://a.example", c.info) }); got.State != c.want {
			t.Errorf("%+v: %+v", c.info, got)
		}
	}
}

// TestDoctorRunsWhatIsInstalled: hooks and servers that are slow, silent, broken or
// that hang are told apart.
func TestDoctorRunsWhatIsInstalled(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
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
		return func(d *doctor) { d.mcpServer(context.Background(), "claude", program(text), "") }
	}
	start := func(text string) func(*doctor) {
		return func(d *doctor) {
			d.hook(context.Background(), "claude", harness.Status{Binary: program(text), Profile: "p"}, hook.SessionStart)
		}
	}
	brief := func(check func(*doctor)) func(*doctor) {
		return func(d *doctor) { d.flags.timeout = 300 * time.Millisecond; check(d) }
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

// TestDoctorExitCode: it is that of the first failure, whatever comes behind it.
func TestDoctorExitCode(t *testing.T) {
	d := &doctor{app: newApp(&Main{})}
	if d.add("a", warned, "", "b"); d.failure() != nil {
		t.Error("a warning fails")
	}
	d.fail("relay", client.ErrNoRelay, "")
	d.fail("key", usagef("no key"), "")
	err := d.failure()
	if codeOf(err) != exitRelay || err.Error() != "2 of 3 checks failed" {
		t.Errorf("%d: %v", codeOf(err), err)
	}
}

// TestOwnFile: a key file that is somebody else's is found.
func TestOwnFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("rights are looked at when it is read")
	}
	path := filepath.Join(t.TempDir(), "a.key")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ownFile(path); err != nil {
		t.Errorf("one's own: %v", err)
	}
	other := "/etc/passwd"
	if os.Getuid() == 0 {
		if err := os.Chown(path, 4242, -1); err != nil {
			t.Fatal(err)
		}
		other = path
	}
	if err := ownFile(other); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("another's: %v", err)
	}
}
