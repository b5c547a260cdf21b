package harness

import (
	"fmt"
	"strings"
)

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
	render(&b, field{value: object{{"mcpServers", object{{entryName, server(e).value}}}}}, false, st, "")
	b.WriteString("\n\nLines for its hooks, if it can run commands at events; each reads JSON on stdin, and what\nit prints belongs into the agent's context:\n\n")
	for _, name := range []string{"session-start", "prompt", "subagent-start", "stop", "pre-compact", "session-end"} {
		line, _ := hookCommand(posix, e, name, "generic") // a POSIX shell takes every path
		fmt.Fprintf(&b, "  %s\n", line)
	}
	b.WriteString("\nIf it can run none, its rules or system prompt:\n\n" + CursorRule)
	return b.String()
}
