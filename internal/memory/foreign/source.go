package foreign

import (
	"io/fs"
	"strings"

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
	r := &reader{fsys: fsys, place: strings.Trim(o.Place, "/"), only: o.File}
	s.read(r)
	items := r.items(o.Prefix)
	return Result{Items: items, Left: r.leftAll()}
}
