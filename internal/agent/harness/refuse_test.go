package harness

import (
	"strings"
	"testing"
)

const (
	settings = "/home/ana/.claude/settings.json"
	servers  = "/home/ana/.claude.json"
	codexDir = "/home/ana/.codex/"
)

func named(t *testing.T, name string) Harness {
	t.Helper()
	h, err := Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestWhatIsNotUnderstoodIsRefused(t *testing.T) {
	cases := []struct{ harness, path, src, want string }{
		{"claude", settings, "{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: a comma"},
		{"claude", settings, "{\"a\": ", "line 1, column 7: the document ends"},
		{"claude", settings, "{\"a\": \"x\ny\"}", "line 1, column 7: the text that begins here"},
		{"claude", settings, "{\"a\": 1} x", "something follows"},
		{"claude", settings, "{\"a\": nul}", "a value is expected"},
		{"claude", settings, "{a: 1}", "a name in quotation marks"},
		{"claude", settings, "{\"a\" 1}", "a colon is expected"},
		{"claude", settings, "/* x", "has no end"},
		{"claude", settings, "// only this\n", "add {} below"},
		{"claude", settings, "[]", "the document is to be an object"},
		{"claude", settings, "{\"hooks\": null}", "line 1, column 11: \"hooks\" is to be an object"},
		{"claude", settings, "{\"hooks\": {\"Stop\": {}}}", "\"Stop\" is to be a list"},
		{"claude", settings, "{\"a\": \"\xff\"}", "no UTF-8"},
		{"claude", settings, strings.Repeat("[", 300), "nested too deeply"},
		{"claude", servers, "{\"mcpServers\": []}", "is to be an object"},
		{"codex", codexDir + "hooks.json", "{ // x\n}", "take no comments"},
		{"codex", codexDir + "hooks.json", "{\"a\": 1,}", "take no comma"},
		{"codex", codexDir + "config.toml", "a = 1\nb = \n", "line 2, column"},
		{"codex", codexDir + "config.toml", "mcp_servers = { other = { command = \"x\" } }\n", "[mcp_servers.NAME]"},
		{"opencode", "/home/ana/.config/opencode/opencode.jsonc", "{,}", "a name in quotation marks"},
		{"cursor", "/home/ana/.cursor/mcp.json", "{]", "a name in quotation marks"},
	}
	for _, c := range cases {
		_, err := named(t, c.harness).Install(files{c.path: c.src}, roots, entry)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), c.path+": ") {
			t.Errorf("%s with %q says %v, and is to say %q", c.path, c.src, err, c.want)
		}
	}
}

func TestEntriesThatCannotBeWrittenAreRefused(t *testing.T) {
	windows := roots
	windows.Windows = true
	cases := []struct {
		harness string
		r       Roots
		e       Entry
	}{
		{"claude", roots, Entry{}},
		{"claude", roots, Entry{Binary: "engramctl"}},
		{"claude", roots, Entry{Binary: "/usr/bin/memory"}},
		{"claude", roots, Entry{Binary: "/usr/bin/x\ny"}},
		{"claude", roots, Entry{Binary: "/usr/bin/engramctl", Profile: "a b"}},
		{"claude", roots, Entry{Binary: "/usr/bin/engramctl", Profile: "-x"}},
		{"claude", roots, Entry{Binary: "/usr/bin/engramctl", Tools: "memory;x"}},
		{"claude", windows, Entry{Binary: `tools\engramctl.exe`}},
		{"claude", windows, Entry{Binary: `C:\$x\engramctl.exe`}},
		{"codex", windows, Entry{Binary: `C:\Program Files\engramctl.exe`}},
		{"cursor", windows, Entry{Binary: `C:\Program Files\engramctl.exe`}},
	}
	for _, c := range cases {
		if plan, err := named(t, c.harness).Install(files{}, c.r, c.e); err == nil {
			t.Errorf("%s takes %+v: %+v", c.harness, c.e, plan)
		}
	}
}

// A changed entry of ours stays, unless it is forced.
func TestEditedEntriesAreLeft(t *testing.T) {
	cases := []struct{ harness, path, from, to string }{
		{"claude", settings, `"timeout": 10`, `"timeout": 60`},
		{"claude", settings, "session-start --harness claude", "session-start --harness claude --verbose"},
		{"claude", settings, "/usr/bin/engramctl hook stop", "/home/ana/bin/wrapped hook stop"},
		{"claude", servers, "/usr/bin/engramctl", "/home/ana/bin/wrapped"},
		{"claude", settings, `"type": "command",`, `"type": "command", "async": true,`},
		{"claude", settings, `"SessionStart": [`, "\"SessionStart\": [ // mine\n"},
		{"claude", servers, `"args": [`, `"env": {"X": "1"}, "args": [`},
		{"claude", servers, `"memory,mind"`, `"memory,contracts"`},
		{"cursor", "/home/ana/.cursor/mcp.json", `"memory,mind"`, `"memory,mind,contracts"`},
		{"codex", codexDir + "config.toml", `"memory,mind"`, `"memory,contracts"`},
		{"cursor", "/home/ana/.cursor/hooks.json", `"timeout": 10`, `"timeout": 10, "matcher": "x"`},
		{"codex", codexDir + "config.toml", "args = ", "startup_timeout_sec = 9\nargs = "},
		{"opencode", "/home/ana/.config/opencode/opencode.json", `"enabled": true`, `"enabled": false`},
		{"opencode", "/home/ana/.config/opencode/plugins/engram.js", "5000", "5555"},
	}
	for _, c := range cases {
		h := named(t, c.harness)
		with, _ := install(t, h, files{}, roots, entry)
		changed := strings.Replace(with[c.path], c.from, c.to, 1)
		if changed == with[c.path] {
			t.Fatalf("%s has no %q", c.path, c.from)
		}
		with[c.path] = changed
		newer := Entry{Binary: "/opt/engramctl"}
		after, plan := install(t, h, with, roots, newer)
		comment := strings.Contains(c.to, "//") // it stands beside the entry, not inside it
		if !comment && (len(plan.Edited) != 1 || !strings.Contains(after[c.path], c.to)) {
			t.Errorf("%s with %q: edited %q, and it is\n%s", c.path, c.to, plan.Edited, after[c.path])
		}
		if s, err := h.Check(with, roots, entry); err != nil || !comment && len(s.Edited) != 1 {
			t.Errorf("%s with %q: the check says %+v, %v", c.path, c.to, s, err)
		}
		if after, plan = uninstall(t, h, with, roots, Entry{}); !strings.Contains(after[c.path], strings.TrimSpace(c.to)) || !comment && len(plan.Edited) != 1 {
			t.Errorf("%s with %q: a removal leaves %q and says %q", c.path, c.to, after[c.path], plan.Edited)
		}
		newer.Force = true
		if after, plan = install(t, h, with, roots, newer); len(plan.Edited) > 0 || !comment && strings.Contains(after[c.path], c.to) {
			t.Errorf("%s with %q: forced, it is\n%s", c.path, c.to, after[c.path])
		}
		if after, _ = uninstall(t, h, with, roots, Entry{Force: true}); !comment && len(after) > 0 {
			t.Errorf("%s with %q: a forced removal leaves %q", c.path, c.to, after)
		}
	}
}

// Another handler in our own group stays.
func TestOthersInOurGroupStay(t *testing.T) {
	h := named(t, "claude")
	with, _ := install(t, h, files{}, roots, entry)
	mine := `{"type": "command", "command": "mine"}`
	at := strings.Index(with[settings], `"hooks": [`) + len(`"hooks": [`)
	with[settings] = with[settings][:at] + mine + "," + with[settings][at:]
	after, _ := uninstall(t, h, with, roots, Entry{Force: true})
	if !strings.Contains(after[settings], mine) || strings.Contains(after[settings], "engramctl") {
		t.Errorf("a forced removal leaves\n%s", after[settings])
	}
	after, _ = install(t, h, with, roots, Entry{Binary: "/opt/engramctl", Force: true})
	if !strings.Contains(after[settings], mine) || strings.Contains(after[settings], "/usr/bin/engramctl") {
		t.Errorf("a forced install leaves\n%s", after[settings])
	}
}

// Entries of an older version, which could fail, and double ones are replaced
// by one.
func TestOlderAndDoubleEntriesBecomeOne(t *testing.T) {
	h := named(t, "claude")
	old := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/old/engramctl hook stop --harness claude"}]},
 {"hooks": [{"type": "command", "command": "foreign"}]},
 {"hooks": [{"type": "command", "command": "'/old b/engramctl' --profile x hook stop --harness claude || exit 0"}]}]}}`
	with, plan := install(t, h, files{settings: old}, roots, entry)
	if len(plan.Edited) > 0 || strings.Contains(with[settings], "/old") || !strings.Contains(with[settings], "foreign") ||
		strings.Count(with[settings], "hook stop --harness claude || exit 0") != 1 {
		t.Errorf("edited %q, and it is\n%s", plan.Edited, with[settings])
	}
	with, _ = uninstall(t, h, with, roots, Entry{})
	if want := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "foreign"}]}]}}`; with[settings] != want {
		t.Errorf("a removal leaves\n%s", with[settings])
	}
}

// A server as an older version set it up offers today's tools after the next
// setup; hooks and doctor see what it offers now. What a person chose is
// recognized, and stays.
func TestOlderToolsBecomeTodays(t *testing.T) {
	paths := map[string]string{"claude": servers, "codex": codexDir + "config.toml", "cursor": "/home/ana/.cursor/mcp.json", "opencode": "/home/ana/.config/opencode/opencode.json"}
	for _, h := range All() {
		path := paths[h.Name]
		if path == "" {
			continue
		}
		if got := h.Tools(files{}, roots); got != "" {
			t.Errorf("%s: of no server: %q", h.Name, got)
		}
		older := entry
		older.Tools = "memory"
		with, _ := install(t, h, files{}, roots, older)
		s, err := h.Check(with, roots, entry)
		if err != nil || s.Tools != "memory" || !s.Outdated || len(s.Edited) > 0 || h.Tools(with, roots) != "memory" {
			t.Errorf("%s: an older entry is %+v, %v", h.Name, s, err)
		}
		now, plan := install(t, h, with, roots, entry)
		if len(plan.Changes) != 1 || len(plan.Edited) > 0 || !strings.Contains(now[path], `"memory,mind"`) {
			t.Errorf("%s: %s", h.Name, Diff(plan.Changes))
		}
		if s, err = h.Check(now, roots, entry); err != nil || s.Tools != DefaultTools || s.Outdated || h.Tools(now, roots) != DefaultTools {
			t.Errorf("%s: then it is %+v, %v", h.Name, s, err)
		}
		if gone, _ := uninstall(t, h, with, roots, Entry{}); len(gone) > 0 {
			t.Errorf("%s: a removal leaves %q", h.Name, gone)
		}
		now[path] = strings.Replace(now[path], "memory,mind", "memory,contracts", 1)
		if s, err = h.Check(now, roots, entry); err != nil || s.Tools != "memory,contracts" || len(s.Edited) != 1 {
			t.Errorf("%s: a person's choice is %+v, %v", h.Name, s, err)
		}
		now[path] = "{["
		if got := h.Tools(now, roots); got != "" {
			t.Errorf("%s: of a file that cannot be read: %q", h.Name, got)
		}
	}
	h := named(t, "claude")
	ancient := `{"mcpServers": {"engram": {"command": "/usr/bin/engramctl", "args": ["mcp"]}}}`
	if got := h.Tools(files{servers: ancient}, roots); got != DefaultTools {
		t.Errorf("without --tools: %q", got)
	}
}

// Claude Code rewrites its file in its own way and adds an empty env.
func TestRewrittenByTheHarness(t *testing.T) {
	h := named(t, "claude")
	again := "{\n \"numStartups\": 3,\n \"mcpServers\": {\n  \"engram-k3x9\": {\"type\":\"stdio\",\"command\":\"/usr/bin/engramctl\",\n   \"args\":[\"mcp\",\n\"--tools\",\"memory,mind\"],\"env\":{}}}}"
	plan, err := h.Install(files{servers: again}, roots, entry)
	if err != nil || len(plan.Changes) != 1 || plan.Changes[0].Path != settings {
		t.Fatalf("%v: %s", err, Diff(plan.Changes))
	}
	after, plan := uninstall(t, h, files{servers: again}, roots, Entry{})
	if len(plan.Edited) > 0 || after[servers] != "{\n \"numStartups\": 3}" {
		t.Errorf("edited %q, and a removal leaves %q", plan.Edited, after[servers])
	}
}

// doctor reports switches that keep our hooks from running.
func TestCheckSeesSwitches(t *testing.T) {
	cases := []struct{ harness, path, src string }{
		{"claude", settings, "{\"disableAllHooks\": true}"},
		{"codex", codexDir + "config.toml", "[features]\nhooks = false\n"},
		{"codex", codexDir + "config.toml", "features.codex_hooks = false\n"},
	}
	for _, c := range cases {
		s, err := named(t, c.harness).Check(files{c.path: c.src}, roots, entry)
		if err != nil || len(s.Notes) != 1 || !strings.HasPrefix(s.Notes[0], c.path) || !s.Found || s.Installed {
			t.Errorf("%s with %q: %+v, %v", c.path, c.src, s, err)
		}
	}
}

// OpenCode reads files of two names; our entry stays in the file that has it.
func TestOpenCodeFile(t *testing.T) {
	h := named(t, "opencode")
	lax, strict := "/home/ana/.config/opencode/opencode.jsonc", "/home/ana/.config/opencode/opencode.json"
	with, _ := install(t, h, files{lax: "{\n  // mine\n}\n"}, roots, entry)
	if _, made := with[strict]; made || !strings.Contains(with[lax], "engramctl") {
		t.Fatalf("it is %q", with)
	}
	with[strict] = "{}"
	if again, _ := install(t, h, with, roots, entry); again[strict] != "{}" {
		t.Errorf("the other file became %q", again[strict])
	}
	if after, _ := uninstall(t, h, with, roots, Entry{}); after[lax] != "{\n  // mine\n}\n" {
		t.Errorf("a removal leaves %q", after[lax])
	}
}
