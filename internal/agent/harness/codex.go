package harness

import "path/filepath"

// codex is OpenAI's Codex: hooks.json beside config.toml.
func codex() Harness {
	events := []event{
		{"SessionStart", "session-start", 10}, {"UserPromptSubmit", "prompt", 5}, {"SubagentStart", "subagent-start", 5},
		{"Stop", "stop", 5}, {"PreCompact", "pre-compact", 5}, {"SessionEnd", "session-end", 3}, // Codex takes no more there
	}
	dir := func(r Roots, scope Scope) string {
		switch {
		case scope == Project:
			return filepath.Join(r.Project, ".codex")
		case r.CodexHome != "":
			return r.CodexHome
		}
		return filepath.Join(r.Home, ".codex")
	}
	return Harness{
		Name: "codex", Title: "Codex",
		found: func(r Roots) []string { return []string{dir(r, User)} },
		targets: func(_ Reader, r Roots, e Entry) ([]target, error) {
			sh := posix
			if r.Windows {
				sh = cmdExe
			}
			parts, err := nested(e, sh, "codex", events)
			folder := dir(r, e.Scope)
			return []target{
				{filepath.Join(folder, "hooks.json"), "hooks of Codex", []string{folder}, jsonForm{strict: true, parts: parts}},
				{filepath.Join(folder, "config.toml"), "MCP server of Codex", []string{folder}, tomlForm{e, "mcp"}},
			}, err
		},
		notes: func(Entry) []string {
			return []string{"Codex runs a new hook only after a person has trusted it: start codex once and look at /hooks."}
		},
		asks: func(fsys Reader, r Roots, server string, tools []string) []string {
			return codexAsks(fsys, filepath.Join(dir(r, User), "config.toml"), server, tools)
		},
		builtin: func(fsys Reader, r Roots) Builtin { return codexBuiltin(fsys, dir(r, User)) },
		plugin: func(fsys Reader, r Roots) string {
			src, _, err := read(fsys, filepath.Join(dir(r, User), "config.toml"))
			if err != nil {
				return ""
			}
			if d, err := parseTOML(src); err == nil {
				if p := below(d.values, "plugins", pluginName); p != nil && p["enabled"] != false {
					return "codex plugin remove " + pluginName
				}
			}
			return ""
		},
		watch: func(fsys Reader, r Roots, e Entry) []string {
			path := filepath.Join(dir(r, e.Scope), "config.toml")
			src, _, err := read(fsys, path)
			if err != nil {
				return nil
			}
			d, err := parseTOML(src)
			if err != nil {
				return nil
			}
			features, _ := d.values["features"].(map[string]any)
			for _, name := range []string{"hooks", "codex_hooks"} {
				if features[name] == false {
					return []string{path + " has features." + name + " = false: Codex runs no hooks until that is taken out"}
				}
			}
			return nil
		},
	}
}

// below is a table within tables; nil if there is none.
func below(values map[string]any, names ...string) map[string]any {
	for _, name := range names {
		values, _ = values[name].(map[string]any)
	}
	return values
}

// codexAsks are those that Codex asks for, or refuses in `codex exec`. Where no setting
// says it Codex goes by what a tool says of itself, and asks for what destroys something.
func codexAsks(fsys Reader, path, server string, tools []string) (asked []string) {
	src, _, err := read(fsys, path)
	if err != nil {
		return nil
	}
	d, err := parseTOML(src)
	if err != nil {
		return nil
	}
	table := below(d.values, "mcp_servers", server)
	for _, tool := range tools {
		mode := below(table, "tools", tool)["approval_mode"]
		if mode == nil {
			mode = table["default_tools_approval_mode"]
		}
		if mode == nil || mode == "auto" {
			mode = map[bool]string{false: "approve"}[tool == destroys]
		}
		if mode != "approve" {
			asked = append(asked, tool)
		}
	}
	return asked
}
