package harness

import "path/filepath"

// claude is Claude Code: hooks in settings.json, MCP servers in .claude.json; of
// a project, the person's own settings.local.json and the shared .mcp.json.
func claude() Harness {
	events := []event{
		{"SessionStart", "session-start", 10}, {"UserPromptSubmit", "prompt", 5}, {"SubagentStart", "subagent-start", 5},
		{"Stop", "stop", 5}, {"PreCompact", "pre-compact", 5}, {"SessionEnd", "session-end", 5},
	}
	return Harness{
		Name: "claude", Title: "Claude Code",
		found: func(r Roots) []string { return []string{claudeDir(r), filepath.Join(r.Home, ".claude.json")} },
		targets: func(fsys Reader, r Roots, e Entry) ([]target, error) {
			sh := posix
			if r.Windows {
				sh = gitBash
			}
			parts, err := nested(e, sh, "claude", events)
			folder, settings, servers := claudePlaces(r, e.Scope)
			return []target{
				{settings, "hooks of Claude Code", []string{folder}, jsonForm{parts: append(parts, choicesOf(fsys, settings, e)...)}},
				{servers, "MCP server of Claude Code", nil, jsonForm{parts: []part{server(e)}}},
			}, err
		},
		decided: func(fsys Reader, r Roots, server string, tools []string) Decided {
			folder, settings, _ := claudePlaces(r, User)
			at := Decided{MayAsk: true, Asked: asked(fsys, settings, server, tools), Builtin: claudeBuiltin(fsys, folder, settings)}
			if d := parsed(fsys, settings); d != nil {
				if on := d.at([]string{"enabledPlugins", pluginName}); on != nil && string(d.src[on.s:on.e]) == "true" {
					at.Plugin = "claude plugin uninstall " + pluginName
				}
			}
			return at
		},
		left: func(fsys Reader, r Roots) []string {
			_, settings, _ := claudePlaces(r, User)
			if d := parsed(fsys, settings); truth(fsys, settings, autoMemory) != "false" || len(d.find(choicesOf(fsys, settings, Entry{})[1])) > 0 {
				return nil
			}
			return []string{autoMemory + ": false stays in " + settings + ", since setup did not write it, or a program wrote it anew: take it out to have Claude Code's own memory back"}
		},
		watch: func(fsys Reader, r Roots, e Entry) []string {
			_, settings, _ := claudePlaces(r, e.Scope)
			if truth(fsys, settings, "disableAllHooks") == "true" {
				return []string{settings + " has disableAllHooks: Claude Code runs no hooks until that is taken out"}
			}
			return nil
		},
	}
}

// claudeDir is the folder of a person's settings.
func claudeDir(r Roots) string {
	if r.ClaudeDir != "" {
		return r.ClaudeDir
	}
	return filepath.Join(r.Home, ".claude")
}

// claudePlaces are where settings and servers lie.
func claudePlaces(r Roots, scope Scope) (folder, settings, servers string) {
	if scope == Project {
		folder = filepath.Join(r.Project, ".claude")
		return folder, filepath.Join(folder, "settings.local.json"), filepath.Join(r.Project, ".mcp.json")
	}
	folder, servers = claudeDir(r), filepath.Join(r.Home, ".claude.json")
	if r.ClaudeDir != "" {
		servers = filepath.Join(folder, ".claude.json")
	}
	return folder, filepath.Join(folder, "settings.json"), servers
}

// truth is what a member of the root of a JSON document is, as it stands there.
func truth(fsys Reader, path, name string) string {
	d := parsed(fsys, path)
	if d == nil {
		return ""
	}
	n := d.root.member(name)
	if n == nil {
		return ""
	}
	return string(d.src[n.s:n.e])
}
