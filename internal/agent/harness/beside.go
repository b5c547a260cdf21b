package harness

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	disk "engramd/internal/platform/files"
)

// A Server is an MCP server that stands in some settings. Its name may be anybody's words.
type Server struct{ File, Name string }

// inFolders are the files in which a folder brings servers, and the member that holds
// them; of a TOML file it is mcp_servers.
var inFolders = []struct{ file, member string }{
	{".mcp.json", "mcpServers"}, {".cursor/mcp.json", "mcpServers"}, {".codex/config.toml", ""}, {".gemini/settings.json", "mcpServers"}, {".qwen/settings.json", "mcpServers"}, {".github/mcp.json", "mcpServers"},
	{"opencode.json", "mcp"}, {"opencode.jsonc", "mcp"}, {".opencode/opencode.json", "mcp"}, {".opencode/opencode.jsonc", "mcp"},
}

// Bounds of one look: folders above one, bytes of a file and of all. What is beyond is
// Unread.
const maxAbove, maxBeside, maxLooked = 64, 1 << 20, 4 << 20

// Unread is a file that may bring servers and cannot be read; without a Name it is a
// folder that is too far above, with all that is above it.
type Unread struct {
	Path, Name string
	Above      int // how many folders above the one that was looked from
}

// String says which it is in no words but ours: folders may be called anything.
func (u Unread) String() string {
	switch {
	case u.Name == "":
		return fmt.Sprintf("what lies more than %d folders above this one", maxAbove)
	case u.Above == 0:
		return u.Name + " in this folder"
	}
	return fmt.Sprintf("%s in the folder %d above this one", u.Name, u.Above)
}

// Brought are the servers that a folder, or one above it, brings to harnesses, of which
// the name begins as ours do, and what could not be read of them. A harness takes them
// before a person's own, which stand in the home folder and are none of these.
func Brought(fsys Reader, r Roots, folder string) (all []Server, unread []Unread) {
	left := maxLooked
	for above := 0; folder != "" && folder != r.Home; above++ {
		if above > maxAbove {
			unread = append(unread, Unread{Path: folder, Above: above})
			break
		}
		for _, f := range inFolders {
			path := filepath.Join(folder, filepath.FromSlash(f.file))
			names, size, err := serverNames(fsys, path, f.member, min(maxBeside, left))
			if left -= size; err != nil {
				unread = append(unread, Unread{path, f.file, above})
			}
			for _, name := range names {
				all = append(all, Server{path, name})
			}
		}
		next := filepath.Dir(folder)
		if next == folder {
			break
		}
		folder = next
	}
	return slices.DeleteFunc(all, func(s Server) bool { return !strings.HasPrefix(strings.ToLower(s.Name), entryName) }), unread
}

// Elsewhere are the servers of a name that do not stand where setup writes it: in a
// folder, or in what Claude Code keeps of single projects; and what could not be read.
func Elsewhere(fsys Reader, r Roots, folder, name string) ([]Server, []Unread) {
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
// many it has.
func serverNames(fsys Reader, path, member string, most int) (names []string, size int, err error) {
	info, err := fsys.Stat(path)
	if err != nil && disk.Missing(err) {
		return nil, 0, nil
	}
	if err == nil && info.Size() > int64(most) {
		return nil, 0, errTooLarge
	}
	src, _, err := read(fsys, path)
	if err == nil && len(src) > most { // it says another size than it has
		err = errTooLarge
	}
	if err != nil {
		return nil, len(src), err
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

var errTooLarge = errors.New("larger than settings of a folder are")

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
