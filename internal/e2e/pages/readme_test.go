package pages

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
)

func TestMain(m *testing.M) {
	os.Exit(relaytest.Tests{M: m}.Run())
}

// TestFiveMinutes types what README.md shows and wants what it shows, and then
// plugs the file for MCP that came of it into a client.
func TestFiveMinutes(t *testing.T) {
	dir := t.TempDir()
	shown, got, err := FiveMinutes(context.Background(), t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(shown) < 15 {
		t.Fatalf("the section has %d commands only", len(shown))
	}
	for i, s := range shown {
		if strings.HasPrefix(s.Command, "curl ") && !installed("curl") {
			notrun.Part(t, "no curl for a command of README.md")
			continue
		}
		if !Same(s.Output, got[i].Output) {
			t.Errorf("$ %s\nREADME.md shows:\n%s\nit prints:\n%s\n(go run ./internal/e2e/pages/record brings README.md up to date)", s.Command, s.Output, got[i].Output)
		}
	}
	t.Run("mcp", func(t *testing.T) { readOverMCP(t, dir) })
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// TestFiveMinutes_StartsTheRelay wants the command that FiveMinutes leaves out
// to be there, and to start the relay at the address that the page shows.
func TestFiveMinutes_StartsTheRelay(t *testing.T) {
	page, err := Read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	section, err := Section(page, "Five minutes")
	if err != nil {
		t.Fatal(err)
	}
	if steps := Console(section); len(steps) == 0 || steps[0].Command != "make run" {
		t.Error("the section does not begin with make run")
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	dry := exec.Command("make", "-n", "run")
	dry.Dir = root
	out, err := dry.Output()
	if err != nil || !strings.Contains(string(out), "engramd serve") {
		t.Errorf("make -n run: %v\n%s", err, out)
	}
	config := relaytest.RunBinary(t, relaytest.Build{}, Env(t.TempDir()), nil, "config")
	if !strings.Contains(string(config.Stdout), readmeAddress) {
		t.Errorf("the default address is not %s:\n%s", readmeAddress, config.Stdout)
	}
}

// readOverMCP starts what mcp.json says and reads the memory with it.
func readOverMCP(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "mcp.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("mcp.json: %v %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		MCPServers map[string]struct {
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatalf("mcp.json: %v\n%s", err, text)
	}
	server := file.MCPServers["memory"]
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Env = Env(t.TempDir())
	for name, value := range server.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	replies := bufio.NewScanner(stdout)
	replies.Buffer(nil, 1<<20)
	ask := func(request string) string {
		fmt.Fprintln(stdin, request)
		if !replies.Scan() {
			t.Fatalf("no answer to %s", request)
		}
		return replies.Text()
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	fmt.Fprintln(stdin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for slug, want := range map[string]string{"core": "I am Sami, Ada's assistant.", "mem/ada": "Ada likes tea."} {
		reply := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"memory_read","arguments":{"slug":"` + slug + `"}}}`)
		if !strings.Contains(reply, want) {
			t.Errorf("memory_read %s: %s", slug, reply)
		}
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("engramctl mcp: %v", err)
	}
}
