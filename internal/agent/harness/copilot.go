package harness

import (
	"path/filepath"
	"slices"
	"strings"

	"engramd/internal/platform/pattern"
)

// passLine is what our hook at a request for permission answers, in every shell. Only a
// server's own name before it says for which tools: see passForm.
const passLine = `echo '{"behavior":"allow"}'`

// passForm is what ours is asked for: some tools of a server of ours, whose name has
// characters at its end.
var passForm = pattern.Later(`^` + entryName + `-[a-z0-9]{4}/\(([a-z_|]+)\)$`)

// copilot is GitHub's Copilot CLI: servers in mcp-config.json, and a file of hooks that
// lies beside others'. It keeps permissions for single folders only, so that what runs
// unasked is said by a hook, of a person's own settings only.
func copilot() Harness {
	events := []event{
		{"sessionStart", "session-start", 10}, {"userPromptSubmitted", "prompt", 5}, {"subagentStart", "subagent-start", 5},
		{"agentStop", "stop", 5}, {"sessionEnd", "session-end", 5},
	}
	places := func(r Roots, scope Scope) (folder, hooks, servers string) {
		if folder = filepath.Join(r.Home, ".copilot"); scope == Project {
			folder = filepath.Join(r.Project, ".github")
		} else if r.CopilotHome != "" {
			folder = r.CopilotHome
		}
		return folder, filepath.Join(folder, "hooks", "engram.json"), filepath.Join(folder, map[Scope]string{User: "mcp-config.json", Project: "mcp.json"}[scope])
	}
	return Harness{
		Name: "copilot", Title: "Copilot CLI",
		found: func(r Roots) []string {
			folder, _, _ := places(r, User)
			return []string{folder}
		},
		targets: func(fsys Reader, r Roots, e Entry) ([]target, error) {
			sh := posix
			if r.Windows {
				sh = powershell
			}
			folder, hooks, servers := places(r, e.Scope)
			parts, err := flatHooks(e, sh, "copilot", events)
			if e.Scope == User {
				d := parsed(fsys, hooks)
				parts = append(parts, pass(e, e.Allow.on(d != nil && len(d.find(pass(e, true))) > 0)))
			}
			return []target{
				{hooks, "hooks of Copilot CLI", []string{filepath.Dir(hooks), folder}, jsonForm{parts: parts, rest: object{{"version", 1}}}},
				{servers, "MCP server of Copilot CLI", []string{folder}, jsonForm{parts: []part{server(e)}}},
			}, err
		},
		decided: func(fsys Reader, r Roots, server string, tools []string) Decided {
			_, hooks, _ := places(r, User)
			at, free := Decided{MayAsk: true}, passed(fsys, hooks, server)
			at.Asked = slices.DeleteFunc(slices.Clone(tools), func(tool string) bool { return slices.Contains(free, tool) })
			return at
		},
	}
}

// pass is the hook that lets a server's tools run unasked.
func pass(e Entry, want bool) part {
	return part{
		label: "permissions", path: []string{"hooks", "permissionRequest"}, optional: true, without: !want,
		value: object{{"matcher", e.Name + "/(" + strings.Join(e.Free, "|") + ")"}, {"command", passLine}},
		claim: func(d *document, n *node) (claim, run) {
			return map[bool]claim{true: ours}[passForm().MatchString(d.string(n.member("matcher"))) && d.string(n.member("command")) == passLine && len(n.kids) == 2], run{}
		},
	}
}

// passed are the tools of a server that our hook lets run.
func passed(fsys Reader, hooks, server string) []string {
	d := parsed(fsys, hooks)
	if d == nil {
		return nil
	}
	var all []string
	for _, at := range d.find(pass(Entry{}, true)) {
		name, rest, _ := strings.Cut(d.string(at.kid().v.member("matcher")), "/")
		if name == server {
			all = append(all, strings.Split(strings.Trim(rest, "()"), "|")...)
		}
	}
	return all
}
