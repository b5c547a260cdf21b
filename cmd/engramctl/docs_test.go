package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/root"
	"engramd/internal/e2e/golden"
)

const (
	docsPath = "../../docs/engramctl.md"
	docsMark = "<!-- Everything below is generated from the commands: make generate -->\n"
)

// TestGoldenDocs: the reference in docs/engramctl.md is the help of the commands.
func TestGoldenDocs(t *testing.T) {
	written, _ := golden.Part(t, docsPath, docsMark, "", reference(root.New(cliutil.New(&cliutil.System{}))))
	for _, c := range exit.Codes() {
		if !strings.Contains(written, fmt.Sprintf("| %d | ", c.Code)) {
			t.Errorf("exit code %d is not in the table of %s", c.Code, docsPath)
		}
	}
}

// TestEveryCommandHasHelp: each command has a description and an example.
func TestEveryCommandHasHelp(t *testing.T) {
	walk(root.New(cliutil.New(&cliutil.System{})), func(c *cobra.Command) {
		if c.Short == "" || c.Example == "" {
			t.Errorf("%s has no short help or no example", c.CommandPath())
		}
		for _, text := range []string{c.Long, c.Example} {
			for line := range strings.SplitSeq(text, "\n") {
				if len([]rune(line)) > 100 {
					t.Errorf("%s: a line of its help is too long: %s", c.CommandPath(), line)
				}
			}
		}
	})
}

// reference returns the help of all commands as Markdown.
func reference(root *cobra.Command) string {
	var b strings.Builder
	walk(root, func(c *cobra.Command) {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", c.CommandPath(), c.Short)
		if !c.HasSubCommands() {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", c.UseLine())
		}
		if c.Long != "" {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", c.Long)
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "\nExamples:\n\n```sh\n%s\n```\n", unindent(c.Example))
		}
		if flags := c.NonInheritedFlags(); flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\nFlags:\n\n```text\n%s```\n", flags.FlagUsages())
		}
	})
	return b.String()
}

func unindent(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}
