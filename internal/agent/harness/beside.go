package harness

import (
	"bytes"
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

// Bounds of one look: folders above one, bytes of a file and of all.
const maxAbove, maxBeside, maxLooked = 64, 1 << 20, 4 << 20

// Brought are the servers that a folder, or one above it, brings to harnesses, of which
// the name begins as ours do, and the files that may bring some and cannot be read: from
// the folder on, and in no words but ours, since folders may be called anything. A
// harness takes them before a person's own, which stand in the home folder and are none
// of these.
func Brought(fsys Reader, r Roots, folder string) (all []Server, unread []string) {
	left, up := maxLooked, ""
	for next := folder; folder != "" && folder != r.Home; folder, up = next, up+"../" {
		if len(up) > len("../")*maxAbove {
			unread = append(unread, "what is further up")
			break
		}
		for _, f := range inFolders {
			path := filepath.Join(folder, filepath.FromSlash(f.file))
			names, size, err := serverNames(fsys, path, f.member, min(maxBeside, left))
			if left -= size; err != nil {
				unread = append(unread, up+f.file)
			}
			for _, name := range names {
				all = append(all, Server{path, name})
			}
		}
		if next = filepath.Dir(folder); next == folder {
			break
		}
	}
	return slices.DeleteFunc(all, func(s Server) bool { return !strings.HasPrefix(strings.ToLower(s.Name), entryName) }), unread
}

// Elsewhere are the servers of a name that do not stand where setup writes it: in a
// folder, or in what Claude Code keeps of single projects; and what could not be read.
func Elsewhere(fsys Reader, r Roots, folder, name string) ([]Server, []string) {
	all, unread := Brought(fsys, r, folder)
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
	return slices.DeleteFunc(all, func(s Server) bool { return s.Name != name }), unread
}

// serverNames are the names of the servers in a file of at most so many bytes, and how
// many it takes: of one that cannot be read, all that it may.
func serverNames(fsys Reader, path, member string, most int) (names []string, size int, err error) {
	src, _, err := readAtMost(fsys, path, most)
	if err != nil {
		return nil, most, err
	}
	if member == "" {
		values, err := tomlValues(bytes.TrimPrefix(src, bom))
		return slices.Sorted(maps.Keys(below(values, "mcp_servers"))), len(src), err
	}
	d, err := scan(src, false)
	if err != nil {
		return nil, len(src), err
	}
	if n := d.root.member(member); n.kindOf() == '{' {
		for _, k := range n.kids {
			names = append(names, k.name)
		}
	}
	return names, len(src), nil
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
