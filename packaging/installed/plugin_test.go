package installed

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const plugin = "plugin/engram"

// TestPluginServer starts what .mcp.json says, with engramctl in the PATH.
func TestPluginServer(t *testing.T) {
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	readJSON(t, filepath.Join(dist, plugin, ".mcp.json"), &config)
	server, ok := config.Servers["engram"]
	if !ok || len(config.Servers) != 1 {
		t.Fatalf("the servers are %v, want engram alone", config.Servers)
	}
	root := emptyRoot(t)
	dpkg(t, root, "--install", find(t, "engramctl_*_"+here+".deb"))
	env := clean(t, filepath.Join(root, "usr/bin"))
	serveMCP(t, env, "installed/plugin", append([]string{"/usr/bin/env", server.Command}, server.Args...)...)
}

// TestHookLines runs each line of each harness by the shell, with engramctl and
// without: a harness that gets 2 erases what a person has typed.
func TestHookLines(t *testing.T) {
	root := emptyRoot(t)
	dpkg(t, root, "--install", find(t, "engramctl_*_"+here+".deb"))
	for harness, lines := range hookLines(t) {
		for _, line := range lines {
			if !strings.HasPrefix(line, "engramctl hook ") || !strings.HasSuffix(line, " --harness "+harness+" || exit 0") {
				t.Errorf("%s: %s", harness, line)
			}
			for there, env := range map[bool][]string{false: clean(t), true: clean(t, filepath.Join(root, "usr/bin"))} {
				cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
				cmd.Env, cmd.Dir = env, t.TempDir()
				cmd.Stdin = strings.NewReader(`{"session_id":"s1","cwd":"/","source":"startup","prompt":"What does Ana like?"}`)
				out, err := cmd.Output()
				if err != nil || !there && len(out) > 0 {
					t.Errorf("%s, engramctl there %v: %v: %s", line, there, err, out)
				}
			}
		}
	}
}

// TestHooksTellTheCore: the installed line of each harness brings what the agent
// wrote into a session that begins.
func TestHooksTellTheCore(t *testing.T) {
	root := emptyRoot(t)
	dpkg(t, root, "--install", find(t, "engramctl_*_"+here+".deb"))
	env := append(clean(t, filepath.Join(root, "usr/bin")), remembering(t).env...)
	write := exec.CommandContext(t.Context(), filepath.Join(root, "usr/bin/engramctl"), "mem", "set", "core", "I am Sami. Ana is my owner.")
	write.Env = env
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for harness, want := range map[string]string{"claude": `"hookEventName":"SessionStart"`, "codex": `"hookEventName":"SessionStart"`, "cursor": `"additional_context"`} {
		for _, line := range hookLines(t)[harness] {
			if !strings.Contains(line, " session-start ") {
				continue
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
			cmd.Env, cmd.Dir = env, t.TempDir()
			cmd.Stdin = strings.NewReader(`{"session_id":"s-` + harness + `","cwd":"` + cmd.Dir + `","source":"startup"}`)
			out, err := cmd.Output()
			if err != nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "I am Sami. Ana is my owner.") {
				t.Errorf("%s: %v: %s", line, err, out)
			}
		}
	}
}

func hookLines(t *testing.T) map[string][]string {
	t.Helper()
	type handler struct {
		Type, Command string
		Timeout       int
	}
	lines := map[string][]string{}
	for harness, name := range map[string]string{"claude": "hooks.json", "codex": "codex.json"} {
		var config struct {
			Hooks map[string][]struct{ Hooks []handler }
		}
		readJSON(t, filepath.Join(dist, plugin, "hooks", name), &config)
		for event, groups := range config.Hooks {
			for _, g := range groups {
				for _, h := range g.Hooks {
					if h.Type != "command" || h.Timeout <= 0 {
						t.Errorf("%s %s: %+v", harness, event, h)
					}
					lines[harness] = append(lines[harness], h.Command)
				}
			}
		}
	}
	var config struct {
		Version int
		Hooks   map[string][]handler
	}
	readJSON(t, filepath.Join(dist, plugin, "hooks/cursor.json"), &config)
	for _, handlers := range config.Hooks {
		for _, h := range handlers {
			lines["cursor"] = append(lines["cursor"], h.Command)
		}
	}
	if config.Version != 1 || len(lines["claude"]) != 6 || len(lines["codex"]) != 6 || len(lines["cursor"]) != 5 {
		t.Errorf("version %d, lines %v", config.Version, lines)
	}
	return lines
}
