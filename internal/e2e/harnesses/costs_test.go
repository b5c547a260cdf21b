//go:build harness

package harnesses

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/e2e/golden"
	"engramd/internal/e2e/relaytest"
)

// cost is what the memory adds to the first request of a session, in bytes.
type cost struct {
	title, version     string
	without, with      int
	alone              int // with it, and without the harness's own memory; 0 is not known
	system, messages   int // of the request with it
	tools              int
	offered, ours      int // tools
	oursBytes          int
	instructions, told int
}

type costs []cost

// The first and the last line of the server's instructions.
const (
	firstLine = "This is your long-term memory"
	lastLine  = "memory_more with action prepare, then mind_commit"
)

// cost compares the request of a session that knows something with one before setup:
// what is told in lines that were not there is of the memory, or of its server.
func (l *life) cost(version string) cost {
	c := cost{title: l.title, version: version, without: l.bare.bytes, with: l.known.bytes, alone: l.alone.bytes, system: len(l.known.system), offered: len(l.known.tools)}
	for _, it := range l.known.items {
		if it.role == "system" || it.role == "developer" {
			c.system += len(it.text)
		} else {
			c.messages += len(it.text)
		}
	}
	for _, t := range l.known.tools {
		c.tools += t.bytes
		if t.ours() {
			c.ours, c.oursBytes = c.ours+1, c.oursBytes+t.bytes
		}
	}
	had := map[string]int{}
	for line := range strings.Lines(l.bare.said()) {
		had[line]++
	}
	instructs := false
	for line := range strings.Lines(l.known.said()) {
		instructs = instructs || strings.Contains(line, firstLine)
		if had[line]--; had[line] < 0 {
			if instructs || strings.HasPrefix(strings.TrimLeft(line, "- \""), "mcp__") {
				c.instructions += len(line)
			} else {
				c.told += len(line)
			}
		}
		instructs = instructs && !strings.Contains(line, lastLine)
	}
	return c
}

// page is written with ENGRAMD_GENERATE=1; its head says what the columns are.
const page = "docs/benchmarks/HARNESSES.md"

const head = `# What a memory costs in each harness

Written by ` + "`ENGRAMD_GENERATE=1 make harness-test`" + `, from the first request of a session that has a core, one text of its project and nothing else to tell, and that of the same session before ` + "`engramctl setup`" + `. All figures are bytes of the request as it arrives at the model's API;
a token is counted as 4 bytes. "System" and "messages" are their texts: what a harness says in a role of its own is system. "Instructions" are those of the MCP server where they stand in a text (Codex has them in the tools), with the names of its tools where the harness lists only these and loads a tool when the model asks for it. "Told" is what hooks put into the session's start and the prompt. "Its own memory off" is a session after ` + "`engramctl setup claude --no-builtin-memory`" + `.

What Claude Code says of its own memory depends on the model: with ` + "`ANTHROPIC_MODEL=claude-sonnet-4-6 HARNESSES=claude make harness-test`" + ` (and Opus 4.6, Haiku 4.5) it is a chapter of 12.8 kB, and version 2.1.332 has 88,093 bytes without engramd, 91,355 with it, and 78,282 with it and its own memory off.

`

func (c costs) text() string {
	var b strings.Builder
	b.WriteString("| harness | without | with | with, its own memory off | system | messages | tools | of them the memory's | instructions | told | tokens added |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, one := range c {
		off := "–"
		if one.alone > 0 {
			off = fmt.Sprint(one.alone)
		}
		fmt.Fprintf(&b, "| %s %s | %d | %d | %s | %d | %d | %d (%d) | %d (%d) | %d | %d | %d |\n", one.title, one.version, one.without, one.with, off, one.system, one.messages,
			one.tools, one.offered, one.oursBytes, one.ours, one.instructions, one.told, (one.with-one.without)/4)
	}
	return b.String()
}

// show prints the table, and writes the page.
func (c costs) show(t *testing.T) {
	t.Log("\n" + c.text())
	if !golden.Update() || t.Failed() || len(c) != len(programs()) {
		return
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(page)), []byte(head+c.text()), 0o644); err != nil {
		t.Fatal(err)
	}
}
