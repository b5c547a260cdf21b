//go:build nightly

package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/e2e/relaytest"
)

// machine is a machine on which an agent works: its files, and the folder of a
// project.
type machine struct {
	t       testing.TB
	ctl     string
	project string
	env     []string
}

func newMachine(t testing.TB, relays ...string) *machine {
	t.Helper()
	ctl, err := relaytest.Binary(relaytest.Ctl)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, ctl: ctl, project: filepath.Join(dir, "atlas")}
	for name, text := range map[string]string{"agent.key": relaytest.Agent().Secret, "atlas/.git/config": "[remote \"origin\"]\nurl = https://x.org/ana/atlas\n"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "ENGRAM") && !strings.HasPrefix(kv, "XDG_") && !strings.HasPrefix(kv, "CLAUDE") {
			m.env = append(m.env, kv)
		}
	}
	m.env = append(m.env, "HOME="+dir, "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "XDG_STATE_HOME="+filepath.Join(dir, "state"),
		"ENGRAM_KEY_FILE="+filepath.Join(dir, "agent.key"), "ENGRAM_OWNER="+relaytest.Owner().Pub, "ENGRAM_RELAYS="+strings.Join(relays, ","))
	return m
}

// command prepares the line of a harness's settings, as the harness runs it.
func (m *machine) command(ctx context.Context, event, said string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-c", m.ctl+" hook "+event+" --harness claude || exit 0")
	cmd.Dir, cmd.Env, cmd.Stdin = m.project, m.env, strings.NewReader(said)
	return cmd
}

// input is what Claude Code passes to a hook.
func (m *machine) input(session string, more map[string]any) string {
	said := map[string]any{"session_id": session, "cwd": m.project}
	for name, value := range more {
		said[name] = value
	}
	text, err := json.Marshal(said)
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

// hook runs a hook and returns what the agent is shown.
func (m *machine) hook(event, session string, more map[string]any) string {
	m.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := m.command(m.t.Context(), event, m.input(session, more))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		m.t.Fatalf("%s: %v\n%s", event, err, &stderr)
	}
	if a, ok := m.t.(*attempt); ok {
		a.took(event, time.Since(began))
	}
	return told(m.t, stdout.String())
}

// ctlOK runs a command in the project's folder and returns what it prints.
func (m *machine) ctlOK(args ...string) string {
	m.t.Helper()
	cmd := exec.CommandContext(m.t.Context(), m.ctl, append([]string{"--timeout", "2m"}, args...)...)
	cmd.Dir, cmd.Env = m.project, m.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.t.Fatalf("%v: %v\n%s%s", args, err, out, &stderr)
	}
	return string(out)
}

// told returns the text that reaches an agent.
func told(t testing.TB, stdout string) string {
	t.Helper()
	if !strings.HasPrefix(stdout, "{") { // before a compaction it is plain text
		return stdout
	}
	var out struct {
		Decision, Reason string
		Added            struct{ AdditionalContext string } `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	return out.Reason + out.Added.AdditionalContext
}

// tries is how often a prompt is repeated that was silent, perhaps because the
// machine is busy.
const tries = 100

// prompt repeats a prompt until the hook prints something.
func (m *machine) prompt(session, text string) (got string) {
	m.t.Helper()
	for range tries {
		if got = m.hook("prompt", session, map[string]any{"prompt": text}); got != "" {
			break
		}
	}
	return got
}

// agent is the MCP server beside the hooks, with its tools.
type agent struct {
	t       testing.TB
	session *sdk.ClientSession
	cmd     *exec.Cmd
	stdin   io.Closer
	stderr  bytes.Buffer
}

// serve starts the MCP server as the harness does; more is added to its
// environment.
func (m *machine) serve(more ...string) *agent {
	m.t.Helper()
	a := &agent{t: m.t, cmd: exec.Command(m.ctl, "mcp", "--tools", "memory,mind", "--timeout", "2m")}
	a.cmd.Dir, a.cmd.Env, a.cmd.Stderr = m.project, append(m.env[:len(m.env):len(m.env)], more...), &a.stderr
	stdin, err := a.cmd.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	stdout, err := a.cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = a.cmd.Process.Kill() })
	a.stdin = stdin
	a.session, err = sdk.NewClient(&sdk.Implementation{Name: "claude-code", Version: "2.1"}, nil).Connect(m.t.Context(), &sdk.IOTransport{Reader: stdout, Writer: stdin}, nil)
	if err != nil {
		m.t.Fatalf("%v\n%s", err, &a.stderr)
	}
	return a
}

// call calls a tool and returns its text.
func (a *agent) call(tool string, args map[string]any) string {
	a.t.Helper()
	res, err := a.session.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil || res.IsError {
		a.t.Fatalf("%s: %+v, %v\n%s", tool, res, err, &a.stderr)
	}
	return res.Content[0].(*sdk.TextContent).Text
}

// end ends the MCP server.
func (a *agent) end() {
	a.t.Helper()
	_ = a.session.Close()
	_ = a.stdin.Close()
	if err := a.cmd.Wait(); err != nil {
		a.t.Errorf("%v\n%s", err, &a.stderr)
	}
}
