package harness

import (
	"path/filepath"
	"slices"
	"strings"
)

// gemini is Google's Gemini CLI: hooks and servers in one settings.json, and what runs
// unasked in a file of ours among its policies, which it reads of a person only. It counts
// milliseconds, and has no event for a subagent.
func gemini() Harness {
	h := oneFile("gemini", "Gemini CLI", ".gemini", []event{
		{"SessionStart", "session-start", 10000}, {"BeforeAgent", "prompt", 5000},
		{"AfterAgent", "stop", 5000}, {"PreCompress", "pre-compact", 5000}, {"SessionEnd", "session-end", 5000},
	}, func(_ Reader, _ string, e Entry) []part { return []part{untyped(e)} })
	policies := func(r Roots) string { return filepath.Join(r.Home, ".gemini", "policies", "engram.toml") }
	settings := h.targets
	h.targets = func(fsys Reader, r Roots, e Entry) ([]target, error) {
		all, err := settings(fsys, r, e)
		if err != nil || e.Scope == Project {
			return all, err
		}
		src, _, err := read(fsys, policies(r))
		folder := filepath.Dir(policies(r))
		form := optionalFile{wholeFile{"permissions", policy(e)}, e.Allow.on(whose(src) != foreign)}
		return append(all, target{policies(r), "permissions of Gemini CLI", []string{folder, filepath.Dir(folder)}, form}), err
	}
	h.decided = func(fsys Reader, r Roots, server string, tools []string) Decided {
		src, _, err := read(fsys, policies(r))
		return Decided{MayAsk: true, Asked: slices.DeleteFunc(slices.Clone(tools), func(tool string) bool {
			return err == nil && strings.Contains(string(src), quote(server)) && strings.Contains(string(src), quote(tool))
		})}
	}
	return h
}

// qwen is Qwen Code, which has Gemini CLI's file, and Claude Code's events and rules.
func qwen() Harness {
	h := oneFile("qwen", "Qwen Code", ".qwen", []event{
		{"SessionStart", "session-start", 10}, {"UserPromptSubmit", "prompt", 5}, {"SubagentStart", "subagent-start", 5},
		{"Stop", "stop", 5}, {"PreCompact", "pre-compact", 5}, {"SessionEnd", "session-end", 5},
	}, func(fsys Reader, settings string, e Entry) []part {
		return []part{untyped(e), choicesOf(fsys, settings, e)[0]} // the other is Claude Code's own
	})
	h.decided = func(fsys Reader, r Roots, server string, tools []string) Decided {
		return Decided{MayAsk: true, Asked: asked(fsys, filepath.Join(r.Home, ".qwen", "settings.json"), server, tools)}
	}
	return h
}

// oneFile is a harness whose settings.json has all, in a folder of this name at home or
// in a project.
func oneFile(name, title, folder string, events []event, more func(fsys Reader, settings string, e Entry) []part) Harness {
	return Harness{
		Name: name, Title: title,
		found: func(r Roots) []string { return []string{filepath.Join(r.Home, folder)} },
		targets: func(fsys Reader, r Roots, e Entry) ([]target, error) {
			sh, dir := posix, filepath.Join(r.Home, folder)
			if r.Windows {
				sh = powershell
			}
			if e.Scope == Project {
				dir = filepath.Join(r.Project, folder)
			}
			parts, err := nested(e, sh, name, events)
			settings := filepath.Join(dir, "settings.json")
			return []target{{settings, "hooks and MCP server of " + title, []string{dir}, jsonForm{parts: append(parts, more(fsys, settings, e)...)}}}, err
		},
	}
}

// untyped is a server whose kind is told by its members alone.
func untyped(e Entry) part {
	p := server(e)
	p.value = p.value.(object)[1:]
	return p
}

// policy has Gemini CLI run a server's tools unasked.
func policy(e Entry) string {
	var text strings.Builder
	tools := make(list, len(e.Free))
	for i, tool := range e.Free {
		tools[i] = tool
	}
	text.WriteString("# The tools of the memory run unasked; " + sumPlace + "\n[[rule]]\nmcpName = " + quote(e.Name) + "\ntoolName = ")
	render(&text, field{value: tools}, false, style{}, "")
	text.WriteString("\ndecision = \"allow\"\npriority = 100\n")
	return text.String()
}

// optionalFile is a file that is there only where it is wanted.
type optionalFile struct {
	wholeFile
	want bool
}

func (f optionalFile) install(src []byte, exists, force bool) (result, error) {
	if !f.want {
		return f.remove(src, exists, force)
	}
	return f.wholeFile.install(src, exists, force)
}

func (f optionalFile) look(src []byte) (seen, error) {
	s, err := f.wholeFile.look(src)
	s.missing = nil
	return s, err
}
