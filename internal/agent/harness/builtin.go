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

// muted is the switch, as ours. Where e asks for none it is looked for all the same.
func muted() part {
	return part{label: "builtin-memory", name: autoMemory, value: off{}, optional: true, claim: func(d *document, n *node) (claim, run) {
		if string(d.src[n.s:n.e]) == "false" && strings.HasSuffix(string(d.src[:n.s]), ":  ") {
			return ours, run{}
		}
		return foreign, run{}
	}}
}

// mute is Claude Code's settings with the switch, or without.
type mute struct{ off bool }

// muteOf is what e says, given the settings. A switch that a person set stays.
func muteOf(fsys Reader, settings string, e Entry) mute {
	d := parsed(fsys, settings)
	if d == nil {
		return mute{}
	}
	there := len(d.find(muted())) > 0
	return mute{e.NoBuiltin.on(there) && (there || d.root.member(autoMemory) == nil)}
}

func (m mute) install(src []byte, exists, force bool) (result, error) {
	if !m.off {
		return m.remove(src, exists, force)
	}
	return jsonForm{parts: []part{muted()}}.install(src, exists, force)
}

func (mute) remove(src []byte, exists, force bool) (result, error) {
	return jsonForm{parts: []part{muted()}}.remove(src, exists, force)
}

func (mute) look(src []byte) (seen, error) { return jsonForm{parts: []part{muted()}}.look(src) }

// Builtin is what a harness remembers by itself.
type Builtin struct {
	Where string // the folder
	Files int    // texts in it, at most maxCounted
	Off   bool   // by a person's settings
	// Import is the command's source that reads it.
	Import string
	// Switch is what a person's own settings say that keeps --no-builtin-memory from
	// working; "": nothing.
	Switch string
}

// maxCounted bounds how many files are counted.
const maxCounted = 10_000

// counted counts the texts below a folder, of which a path within counts or not.
func counted(dir string, counts func(path string) bool) (n int) {
	seen := 0
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if seen++; seen > maxCounted {
			return fs.SkipAll
		}
		if err != nil {
			return fs.SkipDir
		}
		if rel, err := filepath.Rel(dir, path); err == nil && e.Type().IsRegular() && strings.HasSuffix(path, ".md") && counts(filepath.ToSlash(rel)) {
			n++
		}
		return nil
	})
	return n
}

// claudeBuiltin is Claude Code's own memory: a folder for each project.
func claudeBuiltin(fsys Reader, dir, settings string) Builtin {
	b := Builtin{Where: filepath.Join(dir, "projects"), Import: "claude-code", Off: truth(fsys, settings, autoMemory) == "false"}
	if truth(fsys, settings, autoMemory) == "true" {
		b.Switch = settings + " has " + autoMemory + ": true"
	}
	b.Files = counted(b.Where, func(path string) bool {
		return strings.Count(path, "/") >= 2 && strings.Split(path, "/")[1] == "memory"
	})
	return b
}

// codexBuiltin is Codex's own memory, which is off unless a feature is on.
func codexBuiltin(fsys Reader, dir string) Builtin {
	b := Builtin{Where: filepath.Join(dir, "memories"), Import: "codex", Off: true}
	if src, _, err := read(fsys, filepath.Join(dir, "config.toml")); err == nil {
		if d, err := parseTOML(src); err == nil {
			features, _ := d.values["features"].(map[string]any)
			memories, there := d.values["memories"].(map[string]any)
			b.Off = features["memories"] != true || memories["use_memories"] == false && memories["generate_memories"] == false
			if there && !d.mutes && !b.Off {
				b.Switch = filepath.Join(dir, "config.toml") + " has a table [memories] of its own"
			}
		}
	}
	b.Files = counted(b.Where, func(string) bool { return true })
	return b
}
