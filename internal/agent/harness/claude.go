package harness

import "path/filepath"

// claude is Claude Code: hooks in settings.json, MCP servers in .claude.json; of
// a project, the person's own settings.local.json and the shared .mcp.json.
func claude() Harness {
	events := []event{
		{"SessionStart", "session-start", 10}, {"UserPromptSubmit", "prompt", 5}, {"SubagentStart", "subagent-start", 5},
		{"Stop", "stop", 5}, {"PreCompact", "pre-compact", 5}, {"SessionEnd", "session-end", 5},
	}
	dir := func(r Roots) string {
		if r.ClaudeDir != "" {
			return r.ClaudeDir
		}
		return filepath.Join(r.Home, ".claude")
	}
	places := func(r Roots, scope Scope) (folder, settings, servers string) {
		if scope == Project {
			folder = filepath.Join(r.Project, ".claude")
			return folder, filepath.Join(folder, "settings.local.json"), filepath.Join(r.Project, ".mcp.json")
		}
		folder, servers = dir(r), filepath.Join(r.Home, ".claude.json")
		if r.ClaudeDir != "" {
			servers = filepath.Join(folder, ".claude.json")
		}
		return folder, filepath.Join(folder, "settings.json"), servers
	}
	return Harness{
		Name: "claude", Title: "Claude Code",
		found: func(r Roots) []string { return []string{dir(r), filepath.Join(r.Home, ".claude.json")} },
		targets: func(_ Reader, r Roots, e Entry) ([]target, error) {
			sh := posix
			if r.Windows {
				sh = gitBash
			}
			parts, err := nested(e, sh, "claude", events)
			folder, settings, servers := places(r, e.Scope)
			return []target{
				{settings, "hooks of Claude Code", []string{folder}, jsonForm{parts: parts}},
				{servers, "MCP server of Claude Code", nil, jsonForm{parts: []part{server(e)}}},
			}, err
		},
		watch: func(fsys Reader, r Roots, e Entry) []string {
			_, settings, _ := places(r, e.Scope)
			if isTrue(fsys, settings, "disableAllHooks") {
				return []string{settings + " has disableAllHooks: Claude Code runs no hooks until that is taken out"}
			}
			return nil
		},
	}
}

// isTrue looks for a switch in the root of a JSON document.
func isTrue(fsys Reader, path, name string) bool {
	src, _, err := read(fsys, path)
	if err != nil {
		return false
	}
	d, err := scan(src, false)
	if err != nil {
		return false
	}
	n := d.root.member(name)
	return n != nil && string(src[n.s:n.e]) == "true"
}
