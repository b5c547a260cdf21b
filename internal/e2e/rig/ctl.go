package rig

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// Ctl is engramctl with an agent's key, a relay and a folder for snapshots.
type Ctl struct {
	T        testing.TB
	Bin, Dir string
	Env      []string
}

// NewCtl is engramctl for relaytest.Agent and a relay.
func NewCtl(t testing.TB, relay *relaytest.Child) *Ctl {
	t.Helper()
	bin, err := relaytest.Binary(relaytest.Ctl)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	x := &Ctl{T: t, Bin: bin, Dir: dir}
	key := filepath.Join(dir, "agent.key")
	if err := os.WriteFile(key, []byte(relaytest.Agent().Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	x.Env = []string{"HOME=" + dir, "ENGRAM_KEY_FILE=" + key, "ENGRAM_RELAYS=" + relay.URL, "ENGRAM_SNAPSHOTS=" + x.Root()}
	return x
}

// Root is the folder for snapshots.
func (x *Ctl) Root() string { return filepath.Join(x.Dir, "snapshots") }

// Command is a command that is not started, and what it is going to say.
func (x *Ctl) Command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(x.Bin, append(args, "--timeout", "2m")...)
	out := &bytes.Buffer{}
	cmd.Env, cmd.Stdout, cmd.Stderr = x.Env, out, out
	return cmd, out
}

// Run runs a command that must end with a code.
func (x *Ctl) Run(code int, args ...string) string {
	x.T.Helper()
	cmd, out := x.Command(args...)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		x.T.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		x.T.Fatalf("%v: exit code %d, want %d\n%s", args, got, code, out)
	}
	return out.String()
}
