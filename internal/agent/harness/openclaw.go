package harness

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed openclaw_plugin.js
var clawText string

// clawManifest is what OpenClaw reads of a plugin before it runs it.
const clawManifest = `{
  "id": "engram",
  "name": "engram",
  "description": "Memory that comes by itself; ` + sumPlace + `",
  "activation": { "onStartup": true },
  "configSchema": { "type": "object", "additionalProperties": false }
}
`

// openclaw is OpenClaw: the server and the plugin's switch in openclaw.json, which has
// all of a person's, and a plugin that runs the hooks. It asks for no tool of a server.
func openclaw() Harness {
	dir := func(r Roots) string { return filepath.Join(r.Home, ".openclaw") }
	settings := func(r Roots) string { return filepath.Join(dir(r), "openclaw.json") }
	return Harness{
		Name: "openclaw", Title: "OpenClaw",
		found: func(r Roots) []string { return []string{dir(r)} },
		targets: func(_ Reader, r Roots, e Entry) ([]target, error) {
			if e.Scope == Project {
				return nil, nil
			}
			server, plugins := untyped(e), filepath.Join(dir(r), "extensions")
			server.path = []string{"mcp", "servers"}
			folders := []string{filepath.Join(plugins, entryName), plugins, dir(r)}
			return []target{
				{settings(r), "MCP server of OpenClaw", folders[2:], jsonForm{parts: []part{server, clawSwitch()}}},
				{filepath.Join(folders[0], "index.js"), "plugin of OpenClaw", folders, wholeFile{"plugin", clawPlugin(e)}},
				{filepath.Join(folders[0], "openclaw.plugin.json"), "manifest of the plugin of OpenClaw", folders, wholeFile{"manifest", clawManifest}},
			}, nil
		},
		notes: func(e Entry) []string {
			return map[Scope][]string{Project: {"OpenClaw has no settings of a project: run setup without --project."}}[e.Scope]
		},
		watch: func(fsys Reader, r Roots, _ Entry) []string {
			d := parsed(fsys, settings(r))
			if d == nil {
				return nil
			}
			allowed, _ := d.texts(d.at([]string{"plugins", "allow"}))
			if len(allowed) > 0 && !slices.Contains(allowed, entryName) {
				return []string{settings(r) + ` has plugins.allow without "` + entryName + `": OpenClaw does not load our plugin until it is in there`}
			}
			return nil
		},
	}
}

// clawSwitch lets the plugin see prompts, and answer them with what is remembered.
func clawSwitch() part {
	return part{
		label: "plugin-switch", path: []string{"plugins", "entries"}, name: entryName,
		value: object{{"enabled", true}, {"hooks", object{{"allowConversationAccess", true}}}},
		claim: func(d *document, n *node) (claim, run) {
			written := strings.Join(strings.Fields(string(d.src[n.s:n.e])), "")
			return map[bool]claim{true: ours, false: edited}[written == `{"enabled":true,"hooks":{"allowConversationAccess":true}}`], run{}
		},
	}
}

// clawPlugin is the plugin, with what it has in common with OpenCode's.
func clawPlugin(e Entry) string {
	head, _, _ := strings.Cut(plugin(e), "export const")
	return strings.NewReplacer("OpenCode", "OpenClaw", `"opencode"`, `"openclaw"`).Replace(head) + clawText
}
