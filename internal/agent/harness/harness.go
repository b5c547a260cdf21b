// Package harness knows the settings files of the programs that run agents, and
// how engramd's entries get into them and out again without changing a byte
// that belongs to somebody else.
//
// There are no notes beside the files: what is ours is recognised by the
// command line itself, and how we wrote it says what was there before. So
// Remove after Install gives back the bytes, whoever runs it and when.
//
// Nothing here writes: Install and Remove return changes, Apply makes them.
package harness

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Scope says whose settings are meant: a person's, or one project's.
type Scope int

const (
	User Scope = iota
	Project
)

// Entry is what a harness is told to run.
type Entry struct {
	Binary  string // absolute path of engramctl
	Profile string // "" for the default one
	Name    string // of the MCP server: see NewName; "" is that of the plugin
	Tools   string // what `mcp --tools` takes; "" means DefaultTools
	// Free are the tools that need no permission where Allow is On, and NoBuiltin
	// switches the harness's own memory off.
	Free             []string
	Allow, NoBuiltin Choice
	Scope            Scope
	Force            bool // take over, or take out, entries that a person changed
}

// Choice says what becomes of entries that are a person's to decide.
type Choice int

const (
	Keep Choice = iota // as it is
	On
	Off
)

// on is the choice, given what is there.
func (c Choice) on(was bool) bool { return c == On || c == Keep && was }

// DefaultTools are what an agent's MCP server offers: its memory, and what is
// made of it.
const DefaultTools = "memory,mind"

// Roots are the folders that settings lie in. The caller reads the environment.
type Roots struct {
	Home        string
	Project     string // needed for Project only
	ClaudeDir   string // CLAUDE_CONFIG_DIR, "" for ~/.claude
	CodexHome   string // CODEX_HOME, "" for ~/.codex
	CopilotHome string // COPILOT_HOME, "" for ~/.copilot
	ConfigDir   string // XDG_CONFIG_HOME, "" for ~/.config
	Windows     bool   // the harness runs its hooks with a shell of Windows
}

// Reader is the part of a file system that looking needs. Disk is the real one.
type Reader interface {
	ReadFile(name string) ([]byte, error)
	Stat(name string) (fs.FileInfo, error)
}

// Disk reads the machine's files.
type Disk struct{}

// ReadFile reads a file, and of one that is larger than settings are no more than that
// shows: what a link leads to may be without an end.
func (Disk) ReadFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// Stat tells what a file is.
func (Disk) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// Change is what happens to one file. A nil After removes it.
type Change struct {
	Path    string
	Before  []byte
	After   []byte
	Exists  bool        // there was a file before
	Mode    fs.FileMode // of a file that is made; one that is there keeps its own
	Why     string
	Folders []string // innermost first: made where missing, and such removed with the file if empty
}

// Plan is what Install and Remove would do, and what a person should know.
type Plan struct {
	Changes []Change
	Notes   []string // steps that are left to a person, one sentence each
	Edited  []string // entries of ours that a person changed, and that are left as they are
}

// Status is what doctor wants to know of a harness.
type Status struct {
	Found     bool     // the harness has been used here
	Installed bool     // all of what Install writes is there
	Present   []string // hook events, "mcp", "rule", "plugin" that are there
	Missing   []string // those that are not
	Binary    string   // that the entries run; with Profile of the last one seen
	Profile   string
	Server    string // what our MCP server is called
	Tools     string // that its MCP server offers
	Outdated  bool   // Install would change an entry of ours
	Edited    []string
	Notes     []string // what keeps the harness from running ours, and what to do about it
	Files     []string
}

// Harness is one program that runs agents.
type Harness struct {
	Name  string // as in `hook EVENT --harness NAME`
	Title string

	found   func(Roots) []string // any of them there means that it is used here
	targets func(Reader, Roots, Entry) ([]target, error)
	notes   func(Entry) []string
	watch   func(Reader, Roots, Entry) []string
	left    func(Reader, Roots) []string // what a removal does not take out
	decided func(fsys Reader, r Roots, server string, tools []string) Decided
}

// Decided is what a person's settings of a harness say beside ours.
type Decided struct {
	MayAsk  bool     // the harness asks a person before tools, unless they are allowed
	Asked   []string // of a server's tools, those it asks for, or refuses where nobody can answer
	Builtin *Builtin // nil: it remembers nothing by itself that we know of
	Plugin  string   // the command that takes our plugin out; "": it is not installed
}

// Decided looks at a person's settings, for a server and its tools.
func (h Harness) Decided(fsys Reader, r Roots, server string, tools []string) Decided {
	if h.decided == nil {
		return Decided{}
	}
	return h.decided(fsys, r, server, tools)
}

// All lists the harnesses in the order in which they are shown.
func All() []Harness {
	return []Harness{claude(), codex(), cursor(), opencode(), gemini(), qwen(), copilot(), openclaw(), generic()}
}

// Named finds a harness by its name.
func Named(name string) (Harness, error) {
	var names []string
	for _, h := range All() {
		if h.Name == name {
			return h, nil
		}
		names = append(names, h.Name)
	}
	return Harness{}, fmt.Errorf("no harness is called %q: there are %s", name, strings.Join(names, ", "))
}

// Found says whether the harness has settings here.
func (h Harness) Found(fsys Reader, r Roots) bool {
	return slices.ContainsFunc(h.found(r), func(path string) bool {
		_, err := fsys.Stat(path)
		return err == nil
	})
}

// target is one file, and the form in which our entry stands in it.
type target struct {
	path    string
	why     string
	folders []string
	form    form
}

// form edits one kind of document. exists is false where there is no file;
// install and remove say the same of their result.
type form interface {
	install(src []byte, exists, force bool) (result, error)
	remove(src []byte, exists, force bool) (result, error)
	look(src []byte) (seen, error)
}

type result struct {
	text   []byte
	exists bool
	edited []string
}

// seen is what one document holds of ours.
type seen struct {
	present, missing, edited []string
	binary, profile, tools   string
	server                   string // what ours is called
}

// generic is every other program: nothing is written, and Notes say what to
// paste.
func generic() Harness {
	return Harness{
		Name: "generic", Title: "any other program",
		found:   func(Roots) []string { return nil },
		targets: func(Reader, Roots, Entry) ([]target, error) { return nil, nil },
		notes:   func(e Entry) []string { return []string{Paste(e)} },
	}
}

// Paste is the text that says what to put into a program's settings by hand.
func Paste(e Entry) string {
	var b strings.Builder
	b.WriteString("The MCP server, for a program that reads mcpServers as most do:\n\n")
	st := style{"\n", "  "}
	render(&b, field{value: object{{"mcpServers", object{{e.Name, server(e).value}}}}}, false, st, "")
	b.WriteString("\n\nLines for its hooks, if it can run commands at events; each reads JSON on stdin, and what\nit prints belongs into the agent's context:\n\n")
	for _, name := range []string{"session-start", "prompt", "subagent-start", "stop", "pre-compact", "session-end"} {
		line, _ := hookCommand(posix, e, name, "generic") // a POSIX shell takes every path
		fmt.Fprintf(&b, "  %s\n", line)
	}
	b.WriteString("\nIf it can run none, its rules or system prompt:\n\n" + ruleOf(e))
	return b.String()
}
