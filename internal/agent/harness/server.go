package harness

import (
	"crypto/rand"
	"path/filepath"
	"strings"

	"engramd/internal/platform/pattern"
)

// entryName is what our MCP server is called, before four characters that nobody else
// knows: a harness takes the server of a repository before a person's own, and what a
// person allows ours would be allowed to that of the same name. Older versions, and the
// plugin, have the name alone.
const entryName = "engram"

// pluginName is our plugin, with its marketplace.
const pluginName = "engram@engramd"

// destroys is the tool that says of itself that it destroys something, whatever relays
// keep.
const destroys = "memory_delete"

// nameForm is a name of ours.
var nameForm = pattern.Later(`^` + entryName + `(-[a-z0-9]{4})?$`)

// NewName makes a name for a server.
func NewName() string { return entryName + "-" + strings.ToLower(rand.Text()[:4]) }

// NameOK reports whether a server of ours may have a name.
func NameOK(name string) bool { return nameForm().MatchString(name) }

// arguments are what engramctl is started with as an MCP server.
func arguments(e Entry) list {
	var args list
	if e.Profile != "" {
		args = list{"--profile", e.Profile}
	}
	return append(args, "mcp", "--tools", e.Tools)
}

// toolLists are lists of what a server offers, whoever wrote them; oneTool is one
// of one.
var (
	toolLists = pattern.Later(`^[a-z]+(,[a-z]+)*$`)
	oneTool   = pattern.Later(`^[a-z]+$`)
)

// readArguments is the reverse. Older versions wrote --tools memory, or none. A
// list of tools is ours as it is written today; another is a person's choice.
func readArguments(command string, args []string) (claim, run) {
	r := run{binary: command}
	if !absolute(command) || !isProgram(command) {
		return edited, r
	}
	if len(args) > 1 && args[0] == "--profile" {
		r.profile, args = args[1], args[2:]
	}
	switch {
	case len(args) == 1 && args[0] == "mcp":
		r.tools = DefaultTools
		return ours, r
	case len(args) == 3 && args[0] == "mcp" && args[1] == "--tools" && toolLists().MatchString(args[2]):
		if r.tools = args[2]; r.tools == DefaultTools || oneTool().MatchString(r.tools) {
			return ours, r
		}
	}
	return edited, r
}

// absolute says that a path is one, here or on Windows: settings may be shared.
func absolute(path string) bool {
	drive := len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
	return drive || filepath.IsAbs(path) || strings.HasPrefix(path, `\\`)
}

// isProgram says that a path names engramctl, and not a script that a person
// put around it. Copies may have a longer name.
func isProgram(path string) bool {
	return strings.HasPrefix(path[strings.LastIndexAny(path, `/\`)+1:], "engramctl")
}

// server is the form of mcpServers: a command, and a list of arguments.
func server(e Entry) part {
	return part{
		label: "mcp", path: []string{"mcpServers"}, name: e.Name, named: ourName,
		value: object{{"type", "stdio"}, {"command", e.Binary}, {"args", arguments(e)}},
		claim: func(d *document, n *node) (claim, run) {
			args, ok := d.texts(n.member("args"))
			for _, k := range n.kids {
				// Claude Code adds an empty env when it writes its file anew.
				empty := k.name == "env" && k.v.kind == '{' && len(k.v.kids) == 0
				ok = ok && (k.name == "command" || k.name == "args" || empty || k.name == "type" && d.string(k.v) == "stdio")
			}
			return claimed(ok, d.string(n.member("command")), args)
		},
	}
}

// ourName says whose an entry is by its name. Others may have one that is called as
// older versions called ours; of a name with characters at its end that is no chance.
func ourName(name string, c claim, r run) claim {
	if !NameOK(name) || name == entryName && !isProgram(r.binary) {
		return foreign
	}
	return c
}

// claimed says whose an entry with a name of ours is: one that is not as we write it
// is taken for one that a person changed, and left.
func claimed(ok bool, command string, args []string) (claim, run) {
	c, r := readArguments(command, args)
	if !ok {
		c = edited
	}
	return c, r
}

// texts are the elements of a list of texts.
func (d *document) texts(n *node) ([]string, bool) {
	if n.kindOf() != '[' {
		return nil, false
	}
	var all []string
	for _, k := range n.kids {
		if k.v.kind != '"' {
			return nil, false
		}
		all = append(all, d.string(k.v))
	}
	return all, true
}
