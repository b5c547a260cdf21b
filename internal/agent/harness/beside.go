package harness

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A Server is an MCP server that stands in some settings. Its name may be anybody's words.
type Server struct{ File, Name string }

// inFolders are the files in which a folder brings servers, and the member that holds
// them; of a TOML file it is mcp_servers.
var inFolders = []struct{ file, member string }{
	{".mcp.json", "mcpServers"}, {".cursor/mcp.json", "mcpServers"}, {".codex/config.toml", ""}, {".gemini/settings.json", "mcpServers"}, {".qwen/settings.json", "mcpServers"}, {".github/mcp.json", "mcpServers"},
	{"opencode.json", "mcp"}, {"opencode.jsonc", "mcp"}, {".opencode/opencode.json", "mcp"}, {".opencode/opencode.jsonc", "mcp"},
}

const (
	// maxAbove is how many folders above one are looked at, and maxBeside how large a file.
	maxAbove, maxBeside = 16, 1 << 20
)

// Brought are the servers that a folder, or one above it, brings to harnesses, of which
// the name begins as ours do. A harness takes them before a person's own, which stand in
// the home folder and are none of these.
func Brought(fsys Reader, r Roots, folder string) (all []Server) {
	for range maxAbove {
		if folder == "" || folder == r.Home {
			break
		}
		for _, f := range inFolders {
			path := filepath.Join(folder, filepath.FromSlash(f.file))
			for _, name := range serverNames(fsys, path, f.member) {
				all = append(all, Server{path, name})
			}
		}
		if next := filepath.Dir(folder); next != folder {
			folder = next
			continue
		}
		break
	}
	return slices.DeleteFunc(all, func(s Server) bool { return !strings.HasPrefix(strings.ToLower(s.Name), entryName) })
}

// Elsewhere are the servers of a name that do not stand where setup writes it: in a
// folder, or in what Claude Code keeps of single projects.
func Elsewhere(fsys Reader, r Roots, folder, name string) []Server {
	all := Brought(fsys, r, folder)
	_, _, path := claudePlaces(r, User)
	if d := parsed(fsys, path); d != nil {
		if projects := d.root.member("projects"); projects.kindOf() == '{' {
			for _, k := range projects.kids {
				if k.v.member("mcpServers").member(name) != nil {
					all = append(all, Server{path + ": " + k.name, name})
				}
			}
		}
	}
	return slices.DeleteFunc(all, func(s Server) bool { return s.Name != name })
}

// serverNames are the names of the servers in a file; of one that cannot be read none.
func serverNames(fsys Reader, path, member string) (names []string) {
	if info, err := fsys.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxBeside {
		return nil
	}
	if member == "" {
		return slices.Sorted(maps.Keys(below(tomlAt(fsys, path), "mcp_servers")))
	}
	d := parsed(fsys, path)
	if d == nil {
		return nil
	}
	if n := d.root.member(member); n.kindOf() == '{' {
		for _, k := range n.kids {
			names = append(names, k.name)
		}
	}
	return names
}

// parsed is a JSON document; nil if it is none, or there is none.
func parsed(fsys Reader, path string) *document {
	src, _, err := read(fsys, path)
	if err != nil {
		return nil
	}
	d, err := scan(src, false)
	if err != nil {
		return nil
	}
	return d
}
