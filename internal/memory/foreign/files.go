package foreign

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"engramd/internal/platform/pattern"
	"engramd/nips/frontmatter"
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

var rolloutLine = pattern.Later(`^(thread_id|updated_at|rollout_path|cwd|git_branch|rollout_slug): ?(.*)$`)

// rollout reads the summary of a session: lines "key: value", then Markdown.
func rollout(name, text string) *draft {
	d := &draft{file: name, slug: []string{"rollouts", stem(name)}, kind: "episodic", bare: true, text: text}
	d.daily(stem(name))
	for line := range strings.Lines(text) {
		m := rolloutLine().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if m == nil {
			break
		}
		if m[1] == "updated_at" {
			d.when = strings.TrimSpace(m[2])
		}
	}
	return d
}

// readHermes reads MEMORY.md and USER.md, of which each entry, between lines of
// "§", is a memory.
func readHermes(r *reader) {
	r.files(func(dir string) bool {
		top, _, _ := strings.Cut(dir, "/")
		return top == "memories" || top == "profiles"
	}, func(name string) {
		base := path.Base(name)
		if base != "MEMORY.md" && base != "USER.md" {
			r.leaveFile(name)
			return
		}
		text, ok := r.text(name)
		if !ok {
			return
		}
		var group []string
		if all := strings.Split(name, "/"); len(all) > 2 && all[0] == "profiles" {
			group = []string{folderName("", all[1])}
		}
		kind := strings.ToLower(stem(name))
		seen := map[string]bool{}
		for entry := range strings.SplitSeq("\n"+strings.ReplaceAll(text, "\r\n", "\n")+"\n", "\n§\n") {
			if entry = strings.TrimSpace(entry); entry == "" || seen[entry] { // Hermes itself drops an entry that is there twice
				continue
			}
			seen[entry] = true
			d := &draft{file: name, part: hashOf(entry), slug: append(slices.Clone(group), kind, told(entry, entry)), text: entry + "\n"}
			if kind == "user" {
				d.tags = []string{"user"}
			}
			r.add(d)
		}
	})
}

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

// readObsidian reads the notes of a vault. Folders that begin with a dot are
// Obsidian's and git's own; what is no note is an attachment, and left.
func readObsidian(r *reader) {
	r.files(func(dir string) bool { return !strings.HasPrefix(path.Base(dir), ".") }, func(name string) {
		if !isNote(name) {
			r.leaveFile(name)
			return
		}
		text, ok := r.text(name)
		if !ok {
			return
		}
		doc := frontmatter.Parse(text)
		d := &draft{file: name, slug: segmentsOf(name), text: text, tags: inlineTags(doc.Body())}
		for _, key := range []string{"aliases", "alias"} {
			if v, ok := doc.Value(key); ok {
				d.names = append(d.names, v.Items()...)
			}
		}
		if v, ok := doc.Value("tag"); ok { // the older name
			d.tags = append(d.tags, v.Items()...)
		}
		d.daily(stem(name))
		if f := doc.Fields(); f.Title == "" && f.Description == "" && firstLevel(doc.Body()) != 1 {
			d.fields = append(d.fields, frontmatter.Field{Key: "title", Value: frontmatter.String(shown(stem(name)))})
		}
		r.add(d)
	})
}

var dayName = pattern.Later(`^(\d{4}-\d{2}-\d{2})(?:$|[-_ ])`)

// daily makes a note with a day in its name an episode of that day.
func (d *draft) daily(name string) {
	if m := dayName().FindStringSubmatch(name); m != nil {
		if _, ok := frontmatter.ParseMoment(m[1]); ok {
			d.kind, d.when = string(frontmatter.Episodic), m[1]
		}
	}
}

// firstLevel is that of the heading that a text begins with, 0 without one.
func firstLevel(body string) int {
	first, _, _ := strings.Cut(strings.TrimLeft(body, "\r\n"), "\n")
	return level(first)
}

var hashTag = pattern.Later(`(?:^|\s)#([\pL_][\pL\pN_/-]{0,63})`)

// inlineTags are the #tags in a text, outside of code.
func inlineTags(body string) []string {
	var out []string
	fence := fencing{}
	for line := range strings.Lines(body) {
		if fence.line(line) {
			continue
		}
		for _, m := range hashTag().FindAllStringSubmatch(codeSpan().ReplaceAllString(line, ""), -1) {
			out = append(out, m[1])
		}
	}
	return out
}

// readFolder reads a folder as engramctl export writes it, or any other, that is
// somebody else's: without what speaks for the agent itself, or tells it what to do,
// and what programs keep.
func readFolder(r *reader) {
	r.files(func(dir string) bool { return !strings.HasPrefix(path.Base(dir), ".") }, func(name string) {
		lower := strings.ToLower(name)
		if strings.HasPrefix(path.Base(name), ".") || lower == "index.md" || strings.HasSuffix(lower, ".conflict.md") {
			return
		}
		if r.only != "" && strings.HasSuffix(lower, ".jsonl") {
			r.values(name, func(n int, line []byte) { r.exported(name, n, line) })
			return
		}
		if !isNote(name) {
			r.leaveFile(name)
			return
		}
		if text, ok := r.text(name); ok {
			r.strange(path.Base(r.place), &draft{file: name, slug: segmentsOf(strings.TrimPrefix(name, "mem/")), text: text})
		}
	})
}

// exported reads a line of snapshot export --plain.
func (r *reader) exported(name string, n int, line []byte) {
	var e struct {
		Slug, Owner, Text string
		Removed           bool
		Redacted          int
	}
	switch err := json.Unmarshal(line, &e); {
	case err != nil:
		r.leave(place(name, n), "no record of snapshot export --plain")
	case e.Slug == "" || e.Removed: // a mark, which is said already, or nothing
	case e.Owner != r.owner:
		r.leave(place(name, n), "it is of another owner")
	case e.Redacted > 0:
		r.leave(place(name, n), "secrets in it were replaced when it was exported")
	default:
		r.strange(stem(name), &draft{file: name, part: e.Slug, names: []string{e.Slug}, slug: segmentsOf(strings.TrimPrefix(e.Slug, "mem/")), text: e.Text})
	}
}

// strange adds somebody else's text below what its folder or file is called.
func (r *reader) strange(at string, d *draft) {
	if why := ofTheAgent(d.slug, frontmatter.Parse(d.text).Fields().Type); why != "" {
		r.leave(d.from(), "%s, and somebody else's is not taken", why)
		return
	}
	if at != "." {
		d.slug = append([]string{at}, d.slug...)
	}
	r.add(d)
}

// ofTheAgent says what of the agent's own a text would be, by its place and its type;
// "" for any other.
func ofTheAgent(slug []string, typ frontmatter.Type) string {
	first, _ := plain(slug[0])
	switch {
	case len(slug) == 1 && first == "core":
		return "it says who the agent is"
	case typ == frontmatter.Narrative, first == "narrative":
		return "it is what the agent tells of itself"
	case typ == frontmatter.Prospective, first == "intentions":
		return "it is what the agent means to do"
	case first == "sys", strings.HasPrefix(first, "proposals"):
		return "programs keep it"
	}
	return ""
}
