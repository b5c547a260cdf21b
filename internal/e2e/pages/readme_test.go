package pages

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
)

func TestMain(m *testing.M) {
	os.Exit(relaytest.Tests{M: m}.Run())
}

// TestGoldenFiveMinutes runs the commands that README.md shows and compares their
// output, and then has a client read over MCP with the settings that setup
// wrote.
func TestGoldenFiveMinutes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ada")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	section, shown, got, err := fiveMinutes(context.Background(), t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(shown) < 15 {
		t.Fatalf("the section has %d commands only", len(shown))
	}
	for i, s := range shown {
		if strings.HasPrefix(s.Command, "curl ") && !installed("curl") {
			notrun.Part(t, "no curl for a command of README.md")
			got[i].Output = s.Output
		}
	}
	shows(t, "README.md", section, shown, got)
	t.Run("mcp", func(t *testing.T) { readOverMCP(t, dir) })
}

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// TestFiveMinutes_Installs: the commands that are not run here, because they
// change the machine, are on the page, and the packages that they name are in
// docs/install.md.
func TestFiveMinutes_Installs(t *testing.T) {
	page, err := Read("README.md")
	if err != nil {
		t.Fatal(err)
	}
	install, err := Read("docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	section, err := Section(page, "Five minutes")
	if err != nil {
		t.Fatal(err)
	}
	blocks := Blocks(section, "sh")
	if len(blocks) != 1 || blocks[0] != "make install PREFIX=~/.local\n" {
		t.Fatalf("the section does not begin with the installation: %q", blocks)
	}
	for _, program := range []string{"engramctl", "engramd"} {
		if !strings.Contains(install, program+"_VERSION_amd64.deb") {
			t.Errorf("the package of %s is not in docs/install.md", program)
		}
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	for target, want := range map[string]string{"run": "engramd serve", "dist": "packaging", "deb": "-debs"} {
		dry := exec.Command("make", "-n", target)
		dry.Dir = root
		out, err := dry.Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("make -n %s: %v\n%s", target, err, out)
		}
	}
	installs(t, root)
	config := relaytest.RunBinary(t, relaytest.Build{}, Env(t.TempDir()), nil, "config")
	if !strings.Contains(string(config.Stdout), readmeAddress) {
		t.Errorf("the default address is not %s:\n%s", readmeAddress, config.Stdout)
	}
}

// installs checks that make install builds unless it runs by sudo and was built before,
// and puts both programs where PREFIX and DESTDIR say.
func installs(t *testing.T, root string) {
	t.Helper()
	dir := t.TempDir()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), makefile, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	// In place of Go: it leaves two programs that say how often they were built.
	const builds = `#!/bin/sh
test "$1" = build || exit 0
echo x >> built
for name in engramd engramctl; do wc -l < built > bin/$name; chmod 700 bin/$name; done
`
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(builds), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ by, built string }{{"SUDO_USER=ada", "1"}, {"SUDO_USER=ada", "1"}, {"SUDO_USER=", "2"}} {
		cmd := exec.Command("make", "install", "GO=./go", "VERSION=v1", "PREFIX=/opt/engram", "DESTDIR="+filepath.Join(dir, "image"))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), c.by)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("make install: %v\n%s", err, out)
		}
		for _, program := range []string{"engramd", "engramctl"} {
			path := filepath.Join(dir, "image", "opt", "engram", "bin", program)
			text, err := os.ReadFile(path)
			if err != nil || strings.TrimSpace(string(text)) != c.built {
				t.Errorf("%s: %s is build %q, want %s: %v", c.by, program, text, c.built, err)
			}
			if info, err := os.Stat(path); err == nil && info.Mode().Perm() != 0o755 {
				t.Errorf("%s has the mode %v", program, info.Mode())
			}
		}
	}
}

// readOverMCP starts the server that setup wrote into the settings of Claude
// Code, and reads the memory with it.
func readOverMCP(t *testing.T, dir string) {
	text, err := os.ReadFile(filepath.Join(dir, ".claude.json"))
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
		t.Fatalf("%v\n%s", err, text)
	}
	servers := slices.Collect(maps.Values(file.MCPServers))
	if len(servers) != 1 {
		t.Fatalf("%d servers", len(servers))
	}
	server := servers[0]
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Env = Env(dir, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=")
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
