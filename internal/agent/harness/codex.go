package harness

import (
	"bytes"
	"path/filepath"
	"strings"
)

var codexEvents = []event{
	{"SessionStart", "session-start", 10}, {"UserPromptSubmit", "prompt", 5}, {"SubagentStart", "subagent-start", 5},
	{"Stop", "stop", 5}, {"PreCompact", "pre-compact", 5}, {"SessionEnd", "session-end", 3}, // Codex takes no more there
}

// codex is OpenAI's Codex: hooks.json beside config.toml.
func codex() Harness {
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
			parts, err := nested(e, sh, "codex", codexEvents)
			folder := dir(r, e.Scope)
			return []target{
				{filepath.Join(folder, "hooks.json"), "hooks of Codex", []string{folder}, jsonForm{strict: true, parts: parts}},
				{filepath.Join(folder, "config.toml"), "MCP server of Codex", []string{folder}, tomlForm{e, "mcp"}},
			}, err
		},
		decided: func(fsys Reader, r Roots, server string, tools []string) Decided {
			path := filepath.Join(dir(r, User), "config.toml")
			at := Decided{MayAsk: true, Asked: codexAsks(fsys, path, server, tools), Builtin: codexBuiltin(fsys, dir(r, User))}
			if codexPlugin(tomlAt(fsys, path)) {
				at.Plugin = "codex plugin remove " + pluginName
			}
			return at
		},
		watch: func(fsys Reader, r Roots, e Entry) []string {
			path := filepath.Join(dir(r, e.Scope), "config.toml")
			features := below(tomlAt(fsys, path), "features")
			for _, name := range []string{"hooks", "codex_hooks"} {
				if features[name] == false {
					return []string{path + " has features." + name + " = false: Codex runs no hooks until that is taken out"}
				}
			}
			if events := untrusted(fsys, dir(r, e.Scope)); len(events) > 0 {
				return []string{"Codex does not run the hooks " + strings.Join(events, ", ") + " until you trust them: start codex, type /hooks, and trust those that run engramctl"}
			}
			return nil
		},
	}
}

// tomlAt is what a TOML file means; of one that cannot be read nothing.
func tomlAt(fsys Reader, path string) map[string]any {
	src, _, err := read(fsys, path)
	if err != nil {
		return nil
	}
	values, _ := tomlValues(bytes.TrimPrefix(src, bom))
	return values
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
	table := below(tomlAt(fsys, path), "mcp_servers", server)
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
