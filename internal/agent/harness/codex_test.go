package harness

import (
	"slices"
	"strings"
	"testing"
)

// codexSaid is what Codex 0.171.0 writes when a person presses t in /hooks, for the hooks
// of entry: behind our tables, and before the comment that ends them.
const codexSaid = `
[tui]
screen_reader_detection_done = true

[hooks.state]

[hooks.state."/home/ana/.codex/hooks.json:pre_compact:0:0"]
trusted_hash = "sha256:3aa77d4358f75896073905afdb9333323a866bb0cae57ace2b569a30b342cc42"

[hooks.state."/home/ana/.codex/hooks.json:session_start:0:0"]
trusted_hash = "sha256:44efa2a6b43f8e3629907ae32d5bef31040c9598d436b3478ed2b0c55e7d6f0b"

[hooks.state."/home/ana/.codex/hooks.json:session_end:0:0"]
trusted_hash = "sha256:5661a1f61989cee0f65c4ea7821fa6be580bc4e5a9e2579875315a1c3a88dd4e"

[hooks.state."/home/ana/.codex/hooks.json:user_prompt_submit:0:0"]
trusted_hash = "sha256:0b93677895e0632b227cd128723c56b6b2c5fd919812abcca3ad6f12823c83b0"

[hooks.state."/home/ana/.codex/hooks.json:subagent_start:0:0"]
trusted_hash = "sha256:03d03092dfd65a82092d4ce07474016a1529a41d55d4cd6c80138eb1ec2094a9"

[hooks.state."/home/ana/.codex/hooks.json:stop:0:0"]
trusted_hash = "sha256:c725ea603ab017def32fad49e26997b24402f7f540c9b2b7f3287c743f2dc5f1"
`

// trusting is a document in which Codex has noted that its hooks are trusted.
func trusting(text string) string {
	return strings.Replace(text, "# <<< engram", codexSaid+"# <<< engram", 1)
}

// TestCodexTrust: hooks that nobody trusted, or that changed since, do not run, and that is
// said; those that are trusted do.
func TestCodexTrust(t *testing.T) {
	h, config, hooks := named(t, "codex"), codexDir+"config.toml", codexDir+"hooks.json"
	with, plan := install(t, h, files{}, roots, entry)
	if len(plan.Notes) > 0 {
		t.Errorf("setup notes %q, and says it at its end", plan.Notes)
	}
	all := "session-start, prompt, subagent-start, stop, pre-compact, session-end"
	group := "\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"x\"}]}, "
	for name, c := range map[string]struct {
		change func(files)
		silent string // the events whose hooks do not run
	}{
		"new":     {func(files) {}, all},
		"trusted": {func(f files) { f[config] = trusting(f[config]) }, ""},
		"another program": {func(f files) {
			f[config], f[hooks] = trusting(f[config]), strings.Replace(f[hooks], "/usr/bin/engramctl hook prompt", "/opt/engramctl hook prompt", 1)
		}, "prompt"},
		"another timeout trusted": {func(f files) {
			f[config], f[hooks] = trusting(f[config]), strings.Replace(f[hooks], `"timeout": 10`, `"timeout": 20`, 1)
		}, ""}, // changed by a person, who has to answer for it
		"another place": {func(f files) {
			f[config], f[hooks] = trusting(f[config]), strings.Replace(f[hooks], "\"Stop\": [", group, 1)
		}, "stop"},
		"one is off": {func(f files) {
			f[config] = strings.Replace(trusting(f[config]), "user_prompt_submit:0:0\"]\n", "user_prompt_submit:0:0\"]\nenabled = false\n", 1)
		}, "prompt"},
		"plugin": {func(f files) { delete(f, hooks); f[config] = "[plugins.\"" + pluginName + "\"]\nenabled = true\n" }, all},
		"plugin, trusted": {func(f files) {
			delete(f, hooks)
			f[config] = "[plugins.\"" + pluginName + "\"]\nenabled = true\n" + strings.NewReplacer("/home/ana/.codex/hooks.json", pluginName+":hooks/codex.json").Replace(codexSaid)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := files{}
			for path, text := range with {
				f[path] = text
			}
			c.change(f)
			s, err := h.Check(f, roots, entry)
			if err != nil {
				t.Fatal(err)
			}
			want := []string(nil)
			if c.silent != "" {
				want = []string{"Codex does not run the hooks " + c.silent + " until you trust them: start codex, type /hooks, and trust those that run engramctl"}
			}
			if !slices.Equal(s.Notes, want) {
				t.Errorf("%q, want %q", s.Notes, want)
			}
		})
	}
}

// TestCodexWritesWithin: what Codex puts between our tables and the comment behind them is
// no change of ours: it stays where it is, byte for byte, whether ours are brought up to
// date or taken out.
func TestCodexWritesWithin(t *testing.T) {
	h, config := named(t, "codex"), codexDir+"config.toml"
	for name, before := range map[string]string{"empty": "", "some": "model = \"o\"\n", "without end": "model = \"o\"", "servers": "[mcp_servers.other]\ncommand = \"x\"\n\n"} {
		t.Run(name, func(t *testing.T) {
			with, _ := install(t, h, files{config: before}, roots, allowing)
			with[config] = trusting(with[config])
			s, err := h.Check(with, roots, allowing)
			if err != nil || len(s.Edited) > 0 || s.Outdated || !s.Installed {
				t.Fatalf("%+v, %v", s, err)
			}
			newer := allowing
			newer.Binary = "/opt/engramctl"
			again, plan := install(t, h, with, roots, newer)
			if len(plan.Edited) > 0 || !strings.Contains(again[config], "/opt/engramctl") || strings.Count(again[config], codexSaid) != 1 {
				t.Errorf("%q\n%s", plan.Edited, again[config])
			}
			for _, f := range []files{with, again} {
				after, plan := uninstall(t, h, f, roots, Entry{})
				if head := strings.TrimSuffix(after[config], codexSaid); len(plan.Edited) > 0 || strings.TrimSuffix(head, "\n") != strings.TrimSuffix(before, "\n") {
					t.Errorf("edited %q, and a removal leaves\n%s", plan.Edited, after[config])
				}
			}
		})
	}
	with, _ := install(t, h, files{}, roots, entry)
	with[config] = strings.Replace(trusting(with[config]), "args = ", "startup_timeout_sec = 9\nargs = ", 1)
	if s, err := h.Check(with, roots, entry); err != nil || !slices.Equal(s.Edited, []string{config + ": mcp"}) {
		t.Errorf("a line within ours: %q, %v", s.Edited, err)
	}
}
