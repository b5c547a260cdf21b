package installed

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// memory is a relay with an agent, whom every installed client serves.
type memory struct {
	relay string
	env   []string // what a client is told
}

var shared struct {
	sync.Once
	root   string
	memory *memory
}

// session speaks MCP with a server on stdin and stdout.
type session struct {
	t     *testing.T
	in    io.WriteCloser
	lines *bufio.Scanner
	next  int
}

func (s *session) call(method string, params any) json.RawMessage {
	s.t.Helper()
	s.next++
	id := s.next
	s.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	for s.lines.Scan() {
		var answer struct {
			ID     *int
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := json.Unmarshal(s.lines.Bytes(), &answer); err != nil {
			s.t.Fatalf("not MCP: %q: %v", s.lines.Text(), err)
		}
		if answer.ID == nil || *answer.ID != id {
			continue
		}
		if answer.Error != nil {
			s.t.Fatalf("%s: %s", method, answer.Error)
		}
		return answer.Result
	}
	s.t.Fatalf("%s: the server ended: %v", method, s.lines.Err())
	return nil
}

func (s *session) send(message any) {
	s.t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.in.Write(append(text, '\n')); err != nil {
		s.t.Fatal(err)
	}
}

// tool calls a tool and returns its text.
func (s *session) tool(name string, arguments map[string]any) string {
	s.t.Helper()
	var result struct {
		IsError bool
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(s.call("tools/call", map[string]any{"name": name, "arguments": arguments}), &result); err != nil {
		s.t.Fatal(err)
	}
	if result.IsError || len(result.Content) == 0 {
		s.t.Fatalf("%s: %+v", name, result)
	}
	return result.Content[0].Text
}

// serveMCP runs an installed server as a harness would: it begins, lists the
// tools, writes a memory of this installation and reads it again, and ends the
// server by closing its stdin.
func serveMCP(t *testing.T, env []string, slug string, args ...string) {
	t.Helper()
	m := remembering(t)
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = append(env, m.env...)
	var logged strings.Builder
	cmd.Stderr = &logged
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("stderr of %v:\n%s", args, logged.String())
		}
	})
	s := &session{t: t, in: in, lines: bufio.NewScanner(out)}
	s.lines.Buffer(nil, 1<<20)
	var hello struct {
		ServerInfo   struct{ Name, Version string }
		Capabilities map[string]any
	}
	if err := json.Unmarshal(s.call("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]string{"name": "installed", "version": "1"},
	}), &hello); err != nil {
		t.Fatal(err)
	}
	if hello.ServerInfo.Name == "" || hello.Capabilities["tools"] == nil {
		t.Fatalf("the server says of itself %+v", hello)
	}
	s.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	if tools := string(s.call("tools/list", map[string]any{})); !strings.Contains(tools, `"memory_recall"`) {
		t.Fatalf("no memory_recall among %s", tools)
	}
	s.tool("memory_write", map[string]any{"slug": slug, "text": "Ana likes tea, says " + slug + "."})
	if got := s.tool("memory_read", map[string]any{"slug": slug}); !strings.Contains(got, "Ana likes tea, says "+slug+".") {
		t.Errorf("memory_read: %s", got)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("at the end of stdin: %v", err)
	}
}
