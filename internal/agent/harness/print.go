package harness

import (
	"cmp"
	"fmt"
	"strings"
)

// looked is when the documentation of the programs was read whose settings are only
// printed.
const looked = "2026-11-28"

// byHand are programs whose settings a person writes: where, after which page, and in
// which form: the member of a JSON document that holds servers, or YAML.
var byHand = []struct{ name, title, where, page, member string }{
	{"windsurf", "Windsurf", "~/.codeium/windsurf/mcp_config.json", "docs.windsurf.com/windsurf/cascade/mcp", "mcpServers"},
	{"zed", "Zed", "its settings file (zed: open settings file)", "zed.dev/docs/ai/mcp", "context_servers"},
	{"cline", "Cline", "cline_mcp_settings.json (MCP Servers > Configure > Configure MCP Servers)", "docs.cline.bot/mcp/configuring-mcp-servers", "mcpServers"},
	{"continue", "Continue", "~/.continue/config.yaml", "docs.continue.dev/customize/deep-dives/mcp", "- "},
	{"vscode", "VS Code", "mcp.json of the user profile (MCP: Open User Configuration)", "code.visualstudio.com/docs/agents/reference/mcp-configuration", "servers"},
	{"hermes", "Hermes Agent", "~/.hermes/config.yaml", "hermes-agent.nousresearch.com/docs/user-guide/features/mcp", ""},
	{"antigravity", "Antigravity", "mcp_config.json (MCP Servers > Manage MCP Servers > View raw config)", "antigravity.google/docs/mcp", "mcpServers"},
	{"goose", "Goose", "~/.config/goose/config.yaml", "goose-docs.ai/docs/guides/config-files", "extensions"},
}

// Printed are the names of the programs that Print knows.
func Printed() (names []string) {
	for _, p := range byHand {
		names = append(names, p.name)
	}
	return names
}

// Print is what a person puts into a program's settings, as its documentation says; ""
// for a program that it does not know.
func Print(name string, e Entry) string {
	e.Name, e.Tools = cmp.Or(e.Name, entryName), cmp.Or(e.Tools, DefaultTools)
	if name == "generic" {
		return Paste(e) + "\n"
	}
	for _, p := range byHand {
		if p.name != name {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s, by %s as of %s. Into %s:\n\n", p.title, p.page, looked, p.where)
		args := quote([]any(arguments(e)))
		switch p.member {
		case "- ":
			fmt.Fprintf(&b, "mcpServers:\n  - name: %s\n    type: stdio\n    command: %s\n    args: %s\n", e.Name, quote(e.Binary), args)
		case "extensions":
			fmt.Fprintf(&b, "extensions:\n  %s:\n    type: stdio\n    name: %s\n    enabled: true\n    cmd: %s\n    args: %s\n    timeout: 300\n", e.Name, e.Name, quote(e.Binary), args)
		case "":
			fmt.Fprintf(&b, "mcp_servers:\n  %s:\n    command: %s\n    args: %s\n", e.Name, quote(e.Binary), args)
		default:
			of := server(e).value.(object)
			if p.name != "vscode" {
				of = of[1:] // without the type
			}
			render(&b, field{value: object{{p.member, object{{e.Name, of}}}}}, false, style{"\n", "  "}, "")
			b.WriteString("\n")
		}
		return b.String() + "\nInto its rules, since it runs no hooks of ours:\n\n" + ruleOf(e)
	}
	return ""
}
