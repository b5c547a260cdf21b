package foreign

import (
	"path"
	"regexp"
	"strings"
)

// readCodex reads what Codex keeps below ~/.codex/memories: the task groups of
// MEMORY.md, memory_summary.md, a file for each rollout, and skills.
func readCodex(r *reader) {
	r.files(func(dir string) bool {
		return path.Base(dir) != ".git" && dir != "extensions" && dir != "memories/extensions"
	}, func(name string) {
		rest := strings.TrimPrefix(name, "memories/")
		switch dir := path.Dir(rest); {
		case rest == "MEMORY.md":
			if text, ok := r.text(name); ok {
				r.sectioned(draft{file: name, slug: []string{"memory"}, bare: true}, text, 1)
			}
		case rest == "memory_summary.md":
			if text, ok := r.text(name); ok {
				text = strings.TrimLeft(strings.TrimPrefix(text, "v1"), "\r\n")
				r.add(&draft{file: name, slug: []string{"summary"}, kind: "narrative", bare: true, text: text})
			}
		case rest == "raw_memories.md":
			r.leave(name, "what MEMORY.md is made from, which is read itself")
		case dir == "rollout_summaries" && isNote(rest):
			if text, ok := r.text(name); ok {
				r.add(rollout(name, text))
			}
		case strings.HasPrefix(rest, "skills/") && path.Base(rest) == "SKILL.md":
			if text, ok := r.text(name); ok {
				r.add(&draft{file: name, slug: strings.Split(dir, "/"), names: []string{dir}, kind: "procedural", bare: true, text: text})
			}
		default:
			r.leaveFile(name)
		}
	})
}

var rolloutLine = regexp.MustCompile(`^(thread_id|updated_at|rollout_path|cwd|git_branch|rollout_slug): ?(.*)$`)

// rollout reads the summary of a session: lines "key: value", then Markdown.
func rollout(name, text string) *draft {
	d := &draft{file: name, slug: []string{"rollouts", stem(name)}, kind: "episodic", bare: true, text: text}
	d.daily(stem(name))
	for line := range strings.Lines(text) {
		m := rolloutLine.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			break
		}
		if m[1] == "updated_at" {
			d.when = strings.TrimSpace(m[2])
		}
	}
	return d
}
