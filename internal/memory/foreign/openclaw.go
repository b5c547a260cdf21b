package foreign

import (
	"path"
	"strings"
)

// readOpenClaw reads a workspace: MEMORY.md section by section, USER.md, and the
// notes below memory/, of which those with a day in their name are episodes.
func readOpenClaw(r *reader) {
	r.files(func(dir string) bool {
		base := path.Base(dir)
		return !strings.HasPrefix(base, ".") && base != "node_modules" && base != "skills" && base != "sessions"
	}, func(name string) {
		group, rest := []string(nil), name
		if top, below, ok := strings.Cut(name, "/"); ok && strings.HasPrefix(top, "workspace") {
			group, rest = []string{folderName("", top)}, below
		}
		named := func(names ...string) []string { return append(group, names...) }
		switch {
		case rest == "MEMORY.md" || rest == "memory.md":
			if text, ok := r.text(name); ok {
				r.sectioned(draft{file: name, slug: named("memory")}, text, 2)
			}
		case rest == "USER.md":
			if text, ok := r.text(name); ok {
				r.add(&draft{file: name, slug: named("user"), tags: []string{"user"}, text: text})
			}
		case strings.HasPrefix(rest, "memory/") && isNote(rest):
			if text, ok := r.text(name); ok {
				d := &draft{file: name, slug: named(foldersOf(strings.TrimPrefix(rest, "memory/"))...), text: text}
				if d.daily(stem(rest)); d.when != "" {
					d.slug = named("days", stem(rest))
				}
				r.add(d)
			}
		case isNote(rest) && !strings.Contains(rest, "/"):
			r.leave(name, "instructions or the agent's character, and not what it remembers (--from agents-md reads AGENTS.md)")
		default:
			r.leaveFile(name)
		}
	})
}
