package foreign

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"engramd/internal/platform/pattern"
	"engramd/nips/frontmatter"
)

// claudeFile is where a file of Claude Code's memory belongs.
type claudeFile struct {
	name  string   // below what is read
	group []string // its project, or its subagent
	rest  string   // its path within the memory folder
	at    string   // its path below ~/.claude
}

// readClaudeCode reads projects/PROJECT/memory below ~/.claude (or any part of
// that), the memory of subagents in agent-memory and agent-memory-local, and a
// folder with a MEMORY.md of its own (autoMemoryDirectory).
func readClaudeCode(r *reader) {
	var all []claudeFile
	elsewhere := 0
	custom := r.has("MEMORY.md")
	r.files(r.claudeFolder, func(name string) {
		f, ok := claudePlace(r.place, name)
		if !ok && custom {
			f, ok = claudeFile{name: name, rest: name}, true
		}
		switch {
		case !ok && r.only != "":
			all = append(all, claudeFile{name: name, rest: name})
		case !ok:
			elsewhere++
		case !isNote(name):
			r.leaveFile(name)
		default:
			all = append(all, f)
		}
	})
	if elsewhere > 0 {
		r.leave(".", "%d files outside of the folders of memory", elsewhere)
	}
	hooks := map[string]hook{}
	isIndex := map[string]bool{}
	texts := map[string]string{}
	for _, f := range all {
		text, ok := r.text(f.name)
		if !ok {
			continue
		}
		texts[f.name] = text
		if path.Base(f.name) == "MEMORY.md" {
			isIndex[f.name] = indexed(text, path.Dir(f.name), hooks)
		}
	}
	for _, f := range all {
		text, ok := texts[f.name]
		switch {
		case !ok:
		case isIndex[f.name]:
			r.leave(f.name, "the index of the files beside it, which are read themselves")
		default:
			h := hooks[linked(f.name)]
			d := &draft{file: f.name, at: f.at, slug: append(slices.Clone(f.group), foldersOf(f.rest)...), text: text, description: h.line}
			if name := frontmatter.Parse(text).Fields().Name; name != "" {
				d.names = append(d.names, name)
			}
			if h.title != "" {
				d.names = append(d.names, h.title)
			}
			r.add(d)
		}
	}
}

// has reports whether there is something of that name in a folder that is read.
func (r *reader) has(name string) bool {
	if r.only != "" {
		return false
	}
	_, err := fs.Stat(r.fsys, name)
	return err == nil
}

// claudeFolder says which folders to go into: of a project's records only its
// memory.
func (r *reader) claudeFolder(dir string) bool {
	all := strings.Split(path.Join(r.place, dir), "/")
	n := len(all)
	if n >= 3 && all[n-3] == "projects" && all[n-2] != "memory" && all[n-1] != "memory" && (n < 4 || all[n-4] == ".claude") {
		return false
	}
	return !slices.Contains([]string{".git", "node_modules"}, all[n-1])
}

// claudePlace finds the folder of memory that a file is in.
func claudePlace(place, name string) (claudeFile, bool) {
	all := strings.Split(path.Join(place, name), "/")
	for i := len(all) - 2; i >= 1; i-- {
		switch {
		case all[i] == "memory" && i >= 2 && all[i-2] == "projects":
			return claudeFile{name, []string{projectOf(all[i-1])}, path.Join(all[i+1:]...), path.Join(all[i-2:]...)}, true
		case (all[i-1] == "agent-memory" || all[i-1] == "agent-memory-local") && i < len(all)-1:
			return claudeFile{name, []string{subagents, folderName("", all[i])}, path.Join(all[i+1:]...), path.Join(all[i-1:]...)}, true
		}
	}
	return claudeFile{}, false
}

// subagents is where their memory goes.
const subagents = "agents"

// projectOf makes a part of a slug of a project's folder, whose name is a path with
// a dash for each slash, and for much else.
func projectOf(name string) string {
	if out := folderName("-", name); out != subagents {
		return out
	}
	return subagents + "-" + hashOf(name)
}

// hook is what an index says of a file.
type hook struct{ title, line string }

var indexLine = pattern.Later(`^\s*[-*]\s+\[([^\[\]]{1,300})\]\(<?([^()<>]{1,500}?)>?\)\s*(?:[—–:-]+\s*(.*))?$`)

// indexed reads an index, and reports whether the text is nothing else.
func indexed(text, dir string, hooks map[string]hook) bool {
	only, any := true, false
	for line := range strings.Lines(frontmatter.Parse(text).Body()) {
		line = strings.TrimSpace(line)
		m := indexLine().FindStringSubmatch(line)
		switch {
		case m != nil && isNote(m[2]):
			hooks[linked(path.Join(dir, m[2]))] = hook{m[1], strings.TrimSpace(m[3])}
			any = true
		case line != "" && level(line) == 0:
			only = false
		}
	}
	return only && any
}

// segmentsOf are the parts of a slug for a path: its folders and the file's name
// without extension.
func segmentsOf(name string) []string {
	var parts []string
	if dir := path.Dir(name); dir != "." {
		parts = strings.Split(dir, "/")
	}
	return append(parts, stem(name))
}
