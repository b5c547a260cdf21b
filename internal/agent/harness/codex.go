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
				{filepath.Join(folder, "config.toml"), "MCP server of Codex", []string{folder}, codexTable(e)},
			}, err
		},
		notes: func(Entry) []string {
			return []string{"Codex runs a new hook only after a person has trusted it: start codex once and look at /hooks."}
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
