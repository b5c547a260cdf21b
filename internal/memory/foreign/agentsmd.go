package foreign

import (
	"path"
	"slices"
	"strings"

	"engramd/internal/platform/pattern"
)

// agentFiles are the names that are read, and below .claude/rules any Markdown.
var agentFiles = []string{"AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md"}

// maxImports is how far a file's @imports are followed, as Claude Code does.
const maxImports = 5

// maxTargets is how many imports of one file are looked at.
const maxTargets = 500

// readAgentsMD reads instruction files, each section by itself, and what they
// import by @path if it lies within what is read.
func readAgentsMD(r *reader) {
	var names []string
	r.files(func(dir string) bool {
		base := path.Base(dir)
		return base == ".claude" || !strings.HasPrefix(base, ".") && base != "node_modules" && base != "vendor"
	}, func(name string) {
		rule := isNote(name) && strings.Contains("/"+name, "/.claude/rules/")
		if slices.Contains(agentFiles, path.Base(name)) || rule || r.only != "" {
			names = append(names, name)
		}
	})
	read := map[string]bool{}
	for _, name := range names {
		r.instructions(name, 0, read)
	}
}

// instructions reads one file and what it imports.
func (r *reader) instructions(name string, depth int, read map[string]bool) {
	if read[name] {
		return
	}
	read[name] = true
	text, ok := r.text(name)
	if !ok {
		return
	}
	d := draft{file: name, slug: append([]string{path.Base(r.place)}, segmentsOf(name)...), kind: "procedural"}
	if r.place == "" {
		d.slug = segmentsOf(name)
	}
	var followed []string
	if !strings.HasPrefix(path.Base(name), "AGENTS") { // imports are Claude Code's
		followed = r.followed(name, text, depth)
	}
	r.sectioned(d, without(text, followed), 2)
	for _, target := range followed {
		r.instructions(path.Join(path.Dir(name), target), depth+1, read)
	}
}

// followed are the imports of a file that lie within what is read; the others
// are left.
func (r *reader) followed(name, text string, depth int) (out []string) {
	for _, target := range imports(text) {
		within := path.Join(path.Dir(name), target)
		switch {
		case strings.HasPrefix(target, "~") || strings.HasPrefix(target, "/") || within == ".." || strings.HasPrefix(within, "../"):
			r.leave(name, "imports @%s, which lies outside of what is read", target)
		case depth >= maxImports:
			r.leave(name, "imports @%s: imports are followed %d deep", target, maxImports)
		case r.has(within):
			out = append(out, target)
		case r.only != "":
			r.leave(name, "imports @%s: of one file, imports are not followed", target)
		case path.Ext(target) != "":
			r.leave(name, "imports @%s, which is not there", target)
		}
	}
	return out
}

// without returns a text without the lines that are nothing but an import that
// is read itself.
func without(text string, followed []string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if target, ok := strings.CutPrefix(strings.TrimSpace(line), "@"); !ok || !slices.Contains(followed, target) {
			b.WriteString(line)
		}
	}
	return b.String()
}

var (
	importMark = pattern.Later(`(?:^|\s)@([~./\w][^\s@,;)\]]*)`)
	codeSpan   = pattern.Later("`[^`\n]*`")
)

// imports are the paths that a text imports outside of code.
func imports(text string) []string {
	var out []string
	fence := fencing{}
	for line := range strings.Lines(text) {
		if fence.line(line) {
			continue
		}
		for _, m := range importMark().FindAllStringSubmatch(codeSpan().ReplaceAllString(line, ""), -1) {
			target := strings.TrimRight(m[1], ".:!?")
			if len(out) < maxTargets && !slices.Contains(out, target) && (strings.Contains(target, "/") || path.Ext(target) != "") {
				out = append(out, target)
			}
		}
	}
	return out
}
