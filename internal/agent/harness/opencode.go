package harness

import (
	_ "embed"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed opencode_plugin.js
var pluginText string

// opencode is OpenCode: an MCP entry in opencode.json or opencode.jsonc, and a
// plugin that runs the hooks.
func opencode() Harness {
	return Harness{
		Name: "opencode", Title: "OpenCode",
		found: func(r Roots) []string { return []string{filepath.Join(configDir(r), "opencode")} },
		targets: func(fsys Reader, r Roots, e Entry) ([]target, error) {
			settings := filepath.Join(configDir(r), "opencode")
			plugins := []string{filepath.Join(settings, "plugins"), settings}
			folders := []string{settings}
			if e.Scope == Project {
				settings, folders = r.Project, nil
				plugins = []string{filepath.Join(r.Project, ".opencode", "plugins"), filepath.Join(r.Project, ".opencode")}
			}
			form := jsonForm{parts: []part{openCodeServer(e)}}
			return []target{
				{openCodeFile(fsys, settings, form), "MCP server of OpenCode", folders, form},
				{filepath.Join(plugins[0], "engram.js"), "plugin of OpenCode", plugins, wholeFile{"plugin", plugin(e)}},
			}, nil
		},
	}
}

func configDir(r Roots) string {
	if r.ConfigDir != "" {
		return r.ConfigDir
	}
	return filepath.Join(r.Home, ".config")
}

// openCodeFile is the file that holds our entry already, else the one that is
// there, else opencode.json.
func openCodeFile(fsys Reader, folder string, form jsonForm) string {
	names := []string{filepath.Join(folder, "opencode.json"), filepath.Join(folder, "opencode.jsonc")}
	there := slices.DeleteFunc(slices.Clone(names), func(path string) bool {
		_, err := fsys.Stat(path)
		return err != nil
	})
	for _, path := range there {
		src, _, err := read(fsys, path)
		if err != nil {
			continue // reading it again will say so
		}
		if in, err := form.look(src); err == nil && len(in.present) > 0 {
			return path
		}
	}
	return append(there, names...)[0]
}

func openCodeServer(e Entry) part {
	return part{
		label: "mcp", path: []string{"mcp"}, name: e.Name, named: ourName,
		value: object{{"type", "local"}, {"command", append(list{e.Binary}, arguments(e)...)}, {"enabled", true}},
		claim: func(d *document, n *node) (claim, run) {
			command, ok := d.texts(n.member("command"))
			if len(command) == 0 {
				return edited, run{}
			}
			for _, k := range n.kids {
				on := k.name == "enabled" && string(d.src[k.v.s:k.v.e]) == "true"
				ok = ok && (k.name == "command" || on || k.name == "type" && d.string(k.v) == "local")
			}
			return claimed(ok, command[0], command[1:])
		},
	}
}

// plugin is the plugin file with the command that it runs.
func plugin(e Entry) string {
	command := list{e.Binary}
	if e.Profile != "" {
		command = append(command, "--profile", e.Profile)
	}
	var text strings.Builder
	render(&text, field{value: command}, false, style{}, "")
	return strings.Replace(pluginText, `["engramctl"]`, text.String(), 1)
}
