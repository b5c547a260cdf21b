package foreign

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Source is the form in which one tool keeps its memory.
type Source struct {
	Name  string // what --from takes
	About string // what it reads, in a line
	Path  string // where that usually lies
	read  func(*reader)
}

// Sources are all of them, in the order in which help shows them.
func Sources() []Source {
	return []Source{
		{"claude-code", "Claude Code's auto memory and the memory of its subagents", "~/.claude", readClaudeCode},
		{"agents-md", "AGENTS.md and CLAUDE.md files, section by section", "a project's folder", readAgentsMD},
		{"mcp-memory", "the knowledge graph of @modelcontextprotocol/server-memory", "memory.jsonl", readMCPMemory},
		{"obsidian", "the notes of a vault", "the vault's folder", readObsidian},
		{"codex", "Codex's memories", "~/.codex/memories", readCodex},
		{"openclaw", "OpenClaw's MEMORY.md, USER.md and daily notes", "~/.openclaw/workspace", readOpenClaw},
		{"hermes", "the entries of Hermes Agent's MEMORY.md and USER.md", "~/.hermes/memories", readHermes},
		{"letta", "memory blocks of an agent file, or Letta Code's folder of memory", "agent.af, or ~/.letta/agents/ID/memory", readLetta},
		{"folder", "texts that engramctl export wrote, or any .md files, as somebody else's", "a folder, or FILE.jsonl of snapshot export --plain", readFolder},
		{"mem0", "an export of mem0 as JSON or JSON lines", "memories.json", readMem0},
	}
}

// ByName finds a source.
func ByName(name string) (Source, bool) {
	for _, s := range Sources() {
		if s.Name == name {
			return s, true
		}
	}
	return Source{}, false
}

// Names are the names of all sources.
func Names() []string {
	var names []string
	for _, s := range Sources() {
		names = append(names, s.Name)
	}
	return names
}

// Item is one text as it would be remembered, not yet stamped.
type Item struct {
	Slug nipae.Slug
	Text string // with front matter
	From string // where it was found: a path below what was read, and what of it
	// ID ends the slug of what its source names whatever it says; "" otherwise.
	ID string
	// found are its words before links in them were changed.
	found string
}

// Left is something that was not taken, and why.
type Left struct {
	Where string `json:"where"`
	Why   string `json:"why"`
}

// Result is what was found.
type Result struct {
	Items []Item // by the place where they were found
	Left  []Left
}

// Options say how to read.
type Options struct {
	// Place is the whole path of what is read, with slashes. Its last names stand
	// for a project where the form has no other name for it.
	Place string
	// File is the one file of the file system that is meant, "" for all of it.
	File string
	// Owner is for whom it is read: what a form says is of another one is left.
	Owner string
	// Prefix begins every slug; "" is mem/imported and the source's name.
	Prefix string
}

// DefaultPrefix begins the slugs of a source unless somebody chooses another.
func (s Source) DefaultPrefix() string { return "mem/imported/" + s.Name }

// Read reads all that it understands. It does not fail: what cannot be read is
// left.
func (s Source) Read(fsys fs.FS, o Options) Result {
	if o.Prefix == "" {
		o.Prefix = s.DefaultPrefix()
	}
	r := &reader{fsys: fsys, place: strings.Trim(o.Place, "/"), only: o.File, owner: o.Owner}
	s.read(r)
	items := r.items(o.Prefix)
	return Result{Items: items, Left: r.leftAll()}
}

// ours are the keys of front matter by which engramd's tools go. What another
// tool, or who wrote the text, put there means something else: it is kept under
// another name. trust is none of them, because a text may claim less than it is
// given and never more (frontmatter.Stamped).
var ours = append([]string{"who", "session", "after_reading", "created", "source", "salience", "decay", "emotion", "state", "path", "pin", "consolidated",
	"due", "every", "until", "snoozed", "trigger", "where", "action", "propose", "slug", "base", "version", "vouch", "why", keyMark}, frontmatter.Relations...)

// foreign returns a text whose front matter has no key of ours: "source" is
// "imported_source" then. Every other byte stays. A text without front matter is
// returned as it is.
func foreign(text string) string {
	doc := frontmatter.Parse(text)
	if !slices.ContainsFunc(doc.Keys(), func(key string) bool { return slices.Contains(ours, key) }) {
		return text
	}
	head := strings.TrimSuffix(text, doc.Body())
	var b strings.Builder
	for line := range strings.Lines(head) {
		if key, _, ok := strings.Cut(line, ":"); ok && slices.Contains(ours, key) {
			b.WriteString("imported_")
		}
		b.WriteString(line)
	}
	return b.String() + doc.Body()
}

// folded returns the text of a value that stands in the lines below its key
// (YAML's > and |), on one line; "" for any other value.
func folded(doc frontmatter.Doc, key string) string {
	v, ok := doc.Value(key)
	mark, scalar := v.Scalar()
	if !ok || !scalar || !slices.Contains([]string{">", "|", ">-", "|-", ">+", "|+"}, mark) {
		return ""
	}
	var words []string
	within := false
	for line := range strings.Lines(strings.TrimSuffix(doc.Text(), doc.Body())) {
		switch {
		case strings.HasPrefix(line, key+":"):
			within = true
		case within && line[0] != ' ' && line[0] != '\t' && strings.TrimSpace(line) != "":
			return strings.Join(words, " ")
		case within:
			words = append(words, strings.Fields(line)...)
		}
	}
	return strings.Join(words, " ")
}

// keyMark is the field that tells what was imported from what became of it here:
// an update writes over what is as it was imported, and over nothing else.
const keyMark = "imported"

// markOf is what the mark of a text would be: a hash of all but the mark and what
// every way of writing stamps.
func markOf(text string) string {
	var without []frontmatter.Change
	for _, key := range []string{keyMark, "created", "source", "session", "after_reading", "consolidated", "trust"} {
		without = append(without, frontmatter.Remove(key))
	}
	plain, err := frontmatter.Parse(text).Edit(without...)
	if err != nil {
		return ""
	}
	return hashOf(plain)
}

func markIn(text string) string {
	v, _ := frontmatter.Parse(text).Value(keyMark)
	s, _ := v.Scalar()
	return s
}

func marked(text string) (string, error) {
	return frontmatter.Parse(text).Edit(frontmatter.Set(keyMark, frontmatter.String(markOf(text))))
}

// known gives items that a source names, whatever they say, the slugs that they
// have had since they were first imported, though those begin with their words of
// that time. The items are copied.
func known(items []Item, held []Held) []Item {
	items = slices.Clone(items)
	type name struct{ folder, id string }
	there, taken := map[name][]nipae.Slug{}, map[nipae.Slug]bool{}
	for _, h := range held {
		taken[h.Slug] = true
		if n := len(h.Slug) - len(hashOf("")); n > 0 && strings.ContainsRune("-/", rune(h.Slug[n-1])) {
			at := name{path.Dir(string(h.Slug)), string(h.Slug[n:])}
			there[at] = append(there[at], h.Slug)
		}
	}
	moved := map[nipae.Slug]nipae.Slug{}
	for i, item := range items {
		if item.ID == "" || taken[item.Slug] {
			continue
		}
		if all := there[name{path.Dir(string(item.Slug)), item.ID}]; len(all) == 1 {
			moved[item.Slug], items[i].Slug = all[0], all[0]
		}
	}
	for i := range items {
		items[i].Text = redirect(items[i].Text, moved)
	}
	return items
}
