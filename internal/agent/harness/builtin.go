package harness

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// off is what switches a harness's own memory off: false, with one blank more before it
// than others write. So it is known again as ours, and a person's own false is not.
type off struct{}

// autoMemory is Claude Code's switch of its own memory.
const autoMemory = "autoMemoryEnabled"

// Builtin is what a harness remembers by itself.
type Builtin struct {
	Where  string // the folder
	Files  int    // texts in it, at most maxCounted
	Off    bool   // by a person's settings
	Import string // the command's source that reads it
}

// maxCounted bounds how many files are counted.
const maxCounted = 10_000

// counted counts the texts below the folders that a pattern matches.
func counted(pattern string) (n int) {
	dirs, _ := filepath.Glob(pattern) // a pattern that is none matches nothing
	seen := 0
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if seen++; err != nil || seen > maxCounted {
				return fs.SkipAll
			}
			if e.Type().IsRegular() && strings.HasSuffix(path, ".md") {
				n++
			}
			return nil
		})
	}
	return n
}

// claudeBuiltin is Claude Code's own memory: a folder for each project.
func claudeBuiltin(fsys Reader, dir, settings string) *Builtin {
	b := &Builtin{Where: filepath.Join(dir, "projects"), Import: "claude-code", Off: truth(fsys, settings, autoMemory) == "false"}
	b.Files = counted(filepath.Join(b.Where, "*", "memory"))
	return b
}

// codexBuiltin is Codex's own memory, which is off unless a feature is on.
func codexBuiltin(fsys Reader, dir string) *Builtin {
	b := &Builtin{Where: filepath.Join(dir, "memories"), Import: "codex"}
	values := tomlAt(fsys, filepath.Join(dir, "config.toml"))
	memories := below(values, "memories")
	b.Off = below(values, "features")["memories"] != true || memories["use_memories"] == false && memories["generate_memories"] == false
	b.Files = counted(b.Where)
	return b
}
