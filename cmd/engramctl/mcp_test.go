package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/cli/settings"
	"engramd/internal/e2e/relaytest"
)

// mcpChild is `engramctl mcp` as a child process with a client of the SDK.
type mcpChild struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	session *sdk.ClientSession
	stdout  *transcript
	stderr  *transcript
}

type transcript struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed by the next write; nil if nobody waits
}

func (tr *transcript) Write(p []byte) (int, error) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if tr.more != nil {
		close(tr.more)
		tr.more = nil
	}
	return tr.b.Write(p)
}

// await waits until the transcript contains a text.
func (tr *transcript) await(t *testing.T, text string) {
	t.Helper()
	deadline := time.After(relaytest.Patience)
	for {
		tr.mu.Lock()
		there := strings.Contains(tr.b.String(), text)
		if tr.more == nil {
			tr.more = make(chan struct{})
		}
		more := tr.more
		tr.mu.Unlock()
		if there {
			return
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("it never says %q:\n%s", text, tr)
		}
	}
}

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.b.String()
}

// startMCP starts a child with a key and connects a client.
func startMCP(t *testing.T, key relaytest.Key, args ...string) *mcpChild {
	t.Helper()
	return startMCPIn(t, key, []string{"HOME=" + t.TempDir()}, args...)
}

// startMCPIn is startMCP with an environment.
func startMCPIn(t *testing.T, key relaytest.Key, env []string, args ...string) *mcpChild {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret.key")
	if err := os.WriteFile(file, []byte(key.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &mcpChild{t: t, stdout: &transcript{}, stderr: &transcript{}}
	c.cmd = exec.Command("engramctl", append([]string{"mcp", "--key-file", file}, args...)...)
	c.cmd.Env = append(relaytest.CleanEnv(), env...)
	c.cmd.Stderr = c.stderr
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	transport := &sdk.IOTransport{Reader: io.NopCloser(io.TeeReader(stdout, c.stdout)), Writer: c.stdin}
	c.session, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, c.stderr)
	}
	return c
}

// call calls a tool and returns its text.
func (c *mcpChild) call(tool string, args map[string]any, fails bool) string {
	c.t.Helper()
	res, err := c.session.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", tool, err, c.stderr)
	}
	text := res.Content[0].(*sdk.TextContent).Text
	if res.IsError != fails {
		c.t.Fatalf("%s %v: %s", tool, args, text)
	}
	return text
}

// ended waits for the end of the process and checks its whole output.
func (c *mcpChild) ended(secrets ...string) {
	c.t.Helper()
	done := make(chan error, 1)
	go func() { done <- c.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			c.t.Errorf("%v\n%s", err, c.stderr)
		}
	case <-time.After(relaytest.Patience):
		c.t.Fatal("the server does not end")
	}
	for line := range strings.Lines(c.stdout.String()) {
		var message struct {
			JSONRPC string `json:"jsonrpc"`
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil || message.JSONRPC != "2.0" {
			c.t.Errorf("stdout has a line that is no message: %q", line)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(c.stderr.String(), secret) {
			c.t.Errorf("stderr has %q:\n%s", secret, c.stderr)
		}
	}
	agent := relaytest.Agent().Secret
	if nsec, err := settings.EncodeSecret(agent); err != nil || strings.Contains(c.stderr.String()+c.stdout.String(), agent) || strings.Contains(c.stderr.String()+c.stdout.String(), nsec) {
		c.t.Error("the secret key is in the output")
	}
}

// TestMCPServer has a client of the SDK use every tool of a child process
// against a real relay, as agent and as owner.
func TestMCPServer(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	agent, owner := relaytest.Agent(), relaytest.Owner()
	snapshots := t.TempDir()
	c := startMCP(t, agent, "--owner", settings.Npub(owner.Pub), "--relay", relay.URL, "--snapshot-root", snapshots)
	expect := func(text string, wanted ...string) {
		t.Helper()
		for _, want := range wanted {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not in %s", want, text)
			}
		}
	}
	type args = map[string]any
	expect(c.call("memory_list", args{}, false), `"entries":[]`, `"partial":false`)
	expect(c.call("memory_snapshot", args{}, true), "not_found:")
	expect(c.call("memory_write", args{"slug": "core", "text": "I am Sami. [[mem/gardens]]"}, false), `"outcome":"created"`, `"stored_on":1`)
	expect(c.call("memory_append", args{"slug": "gardens", "text": "roses in the zebra bed"}, false), `"outcome":"created"`)
	first := c.call("memory_read", args{"slug": "gardens"}, false)
	expect(first, "zebra bed", `"whole":true`)
	var read struct{ ID, Hash string }
	if err := json.Unmarshal([]byte(first), &read); err != nil {
		t.Fatal(err)
	}
	expect(c.call("memory_write", args{"slug": "gardens", "text": "tulips", "base": read.Hash}, false), `"outcome":"replaced"`)
	expect(c.call("memory_write", args{"slug": "gardens", "text": "lost", "base": read.Hash}, true), "conflict", "What to do")
	expect(c.call("memory_search", args{"query": "tulip"}, false), `"slug":"mem/gardens"`, `"matched":1`)
	expect(c.call("memory_history", args{"slug": "gardens"}, false), `"total":2`, read.ID)
	expect(c.call("memory_restore", args{"slug": "gardens", "version": read.ID}, false), read.Hash)
	var kept struct{ ID string }
	taken := c.call("memory_snapshot", args{"label": "before weeding"}, false)
	expect(taken, `"outcome":"created"`, `"memories":3`, `"partial":false`) // with what the tools keep of uses (mem/sys/usage)
	if err := json.Unmarshal([]byte(taken), &kept); err != nil || kept.ID == "" {
		t.Fatal(err, taken)
	}
	expect(c.call("memory_snapshot", args{"label": "again"}, false), `"outcome":"unchanged"`, kept.ID)
	expect(c.call("memory_delete", args{"slug": "gardens"}, false), `"deleted":true`)
	expect(c.call("memory_read", args{"slug": "gardens"}, true), "removed:")
	expect(c.call("memory_delete", args{"slug": "core"}, true), "core_protected:")
	resource, err := c.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "engram://core"})
	if err != nil || resource.Contents[0].Text != "I am Sami. [[mem/gardens]]" {
		t.Errorf("%v %v", resource, err)
	}
	prompt, err := c.session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "core"})
	if err != nil {
		t.Fatal(err)
	}
	expect(prompt.Messages[0].Content.(*sdk.TextContent).Text, "[Agent Memory — core]", "I am Sami.")
	c.session.Close() // closes stdin
	c.ended("zebra", "gardens", "Sami", "weeding", agent.Pub, owner.Pub, read.ID)
	wantKept(t, relay.URL, snapshots, kept.ID)
	expect(c.stderr.String(), "name=memory_write outcome=conflict")

	o := startMCP(t, owner, "--agent", settings.Npub(agent.Pub), "--relay", relay.URL)
	expect(o.call("memory_read", args{"slug": "core"}, false), "I am Sami.")
	tools, err := o.session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 5 {
		t.Errorf("an owner has %d tools, %v", len(tools.Tools), err)
	}
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	o.ended(owner.Secret)
}

// wantKept lists, verifies and restores with engramctl the snapshot that the
// server made before gardens was deleted.
func wantKept(t *testing.T, relay, root, id string) {
	t.Helper()
	asked := &places{agent: identityOf(t, relaytest.Agent(), relaytest.Owner().Pub)}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"snapshot", "ls", "--snapshot-root", root}, "before weeding"},
		{[]string{"snapshot", "verify", id, "--snapshot-root", root}, "signature"},
		{[]string{"snapshot", "restore", id, "--snapshot-root", root}, "1 changed"},
		{[]string{"mem", "get", "gardens"}, "roses in the zebra bed"},
	} {
		got := asked.run(t, []string{relay}, c.args...)
		if got.code != 0 || !strings.Contains(got.stdout, c.want) {
			t.Errorf("%v: exit code %d, %q lacks %q\n%s", c.args, got.code, got.stdout, c.want, got.stderr)
		}
		if c.args[1] == "ls" && strings.Count(got.stdout, "\n") != 1 {
			t.Errorf("more than one snapshot is kept: %q", got.stdout)
		}
	}
}

// TestMCPServerFindsRelays: the agent's own relays are asked, and a relay that
// comes back is used without a restart of the server.
func TestMCPServerFindsRelays(t *testing.T) {
	directory, home := relaytest.Start(t, relaytest.Options{}), relaytest.Start(t, relaytest.Options{})
	agent, owner := relaytest.Agent(), relaytest.Owner()
	d, err := relaytest.Dial(directory.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	list := relaytest.Sign(agent, 10002, time.Now().Unix(), "", []string{"r", home.URL, "write"})
	if answer, err := d.Publish(list); err != nil || !answer.True {
		t.Fatal(answer, err)
	}
	h, err := relaytest.Dial(home.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if answer, err := h.Publish(relaytest.Memory(agent, owner.Pub, "mem/x", "at home", time.Now().Unix())); err != nil || !answer.True {
		t.Fatal(answer, err)
	}
	profile := filepath.Join(t.TempDir(), "engramctl.toml")
	text := fmt.Sprintf("[profiles.p]\nrelays = [%q]\nowner = %q\n", directory.URL, owner.Pub)
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startMCP(t, agent, "--config", profile, "--profile", "p")
	if text := c.call("memory_read", map[string]any{"slug": "x"}, false); !strings.Contains(text, "at home") {
		t.Errorf("on a listed relay: %s", text)
	}
	home.Stop()
	if text := c.call("memory_read", map[string]any{"slug": "x"}, false); !strings.Contains(text, home.URL) || !strings.Contains(text, "at home") || !strings.Contains(text, `"partial":true`) {
		t.Errorf("while the relay is down, from the local copy: %s", text)
	}
	again := relaytest.Start(t, relaytest.Options{Data: home.Data, Listen: strings.TrimPrefix(home.URL, "ws://")})
	if text := c.call("memory_read", map[string]any{"slug": "x"}, false); !strings.Contains(text, "at home") || again.URL != home.URL {
		t.Errorf("once it is back: %s", text)
	}
	c.session.Close()
	c.ended()
}

// TestMCPServerOnNonsense: the server ends without a panic, and prints nothing
// on stdout but messages.
func TestMCPServerOnNonsense(t *testing.T) {
	file := filepath.Join(t.TempDir(), "agent.key")
	if err := os.WriteFile(file, []byte(relaytest.Agent().Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	for in, answer := range map[string]string{"": "", "\n\n": "", "hello\n": "-32700", "[]\n": "-32600", "{}\n": "-32600", `{"jsonrpc":"2.0","id":1,"method":"tools/call"}` + "\n": "",
		strings.Repeat("[", 5<<20): "too_large", "\x00\xff": "-32700"} {
		ctx, cancel := context.WithTimeout(t.Context(), relaytest.Patience)
		cmd := exec.CommandContext(ctx, "engramctl", "mcp", "--key-file", file, "--owner", relaytest.Owner().Pub, "--relay", "ws://127.0.0.1:1")
		cmd.Env = append(relaytest.CleanEnv(), "HOME="+t.TempDir())
		cmd.Stdin = strings.NewReader(in)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		if ctx.Err() != nil || cmd.ProcessState.ExitCode() != 0 || !strings.Contains(stdout.String(), answer) || strings.Contains(stderr.String(), "goroutine ") {
			t.Errorf("%.40q: exit code %d\n%s%s", in, cmd.ProcessState.ExitCode(), &stdout, &stderr)
		}
		for line := range strings.Lines(stdout.String()) {
			if !json.Valid([]byte(line)) {
				t.Errorf("%.40q: %q on stdout", in, line)
			}
		}
		cancel()
	}
}
