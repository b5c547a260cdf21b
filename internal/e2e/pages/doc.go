// Package pages runs what the documentation shows: the commands of README.md
// and the scripts of docs/harness.md, with the real programs, so that they stay
// true.
package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/e2e/relaytest"
)

// Read returns a page of the repository.
func Read(name string) (string, error) {
	root, err := relaytest.Root()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	return string(text), err
}

// Section returns what stands under a heading of the second level, up to the
// next one.
func Section(page, heading string) (string, error) {
	_, after, found := strings.Cut("\n"+page, "\n## "+heading+"\n")
	if !found {
		return "", fmt.Errorf("there is no section %q", heading)
	}
	section, _, _ := strings.Cut(after, "\n## ")
	return section, nil
}

// Blocks returns the fenced code blocks in a language, in order.
func Blocks(page, language string) []string {
	var out []string
	for {
		_, after, found := strings.Cut("\n"+page, "\n```"+language+"\n")
		if !found {
			return out
		}
		block, rest, _ := strings.Cut(after, "\n```")
		out, page = append(out, block+"\n"), rest
	}
}

// Scripts returns the shell scripts of a page by name: the blocks whose second
// line is "# NAME.sh …".
func Scripts(page string) map[string]string {
	out := map[string]string{}
	for _, block := range Blocks(page, "sh") {
		lines := strings.SplitN(block, "\n", 3)
		if len(lines) < 3 || lines[0] != "#!/bin/sh" {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(lines[1], "# "), " ")
		out[strings.TrimSuffix(name, ":")] = block
	}
	return out
}
