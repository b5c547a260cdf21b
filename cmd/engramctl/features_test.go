package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/root"
)

// named are the features that ENGRAM 0.1 names; docs/memory.md has a row for
// each.
var named = []string{
	"id", "timestamp", "type", "content", "embedding", "salience", "emotion_vector", "tags", "relations", "strength", "decay_rate", "version", "prev_hash",
	"signature", "consolidated_ts", "trigger_condition", "action", "source_agent", "trust_score", "maintenance_cost", "retrieval_count", "last_accessed", "active",
	"SQLite", "ChromaDB or FAISS", "episodic.jsonl", "NetworkX", "snowflake-arctic-embed-m", "offline", "0.6 meaning + 0.2 recency + 0.15 salience + 0.05 graph",
	"resonance", "best 20", "context window", "wakeup consolidation", "micro-consolidation", "contradiction", "every 4 hours or after 50", "5 random semantic nodes",
	"surprising connections", "novelty_score", "embedding distance", "inspired_by", "1.2^age", "MAX_TOKENS", "retrievals × 0.6", "cold JSONL", "50,000 tokens",
	"Ed25519 key", "DPAPI", "each unit signed", "attestation", "memory/trusted/", "memory/proposals/", "coherence", "Merkle", "200 ms", "OpenTimestamps", "transplant",
	"one narrative", "system context", "replay", "prospective memory", "survives restarts", "identity =", "schema.py", "store.py", "embedder.py", "retriever.py",
	"consolidator.py", "dreamer.py", "metabolism.py", "identity.py", "transplant.py", "prospective.py", "narrative.py",
}

var (
	span    = regexp.MustCompile("`([^`]+)`")
	tool    = regexp.MustCompile(`^(memory|mind)_[a-z]+$`)
	pointer = regexp.MustCompile(`\]\(([a-z.]*)(#[^)]*)?\)`)
)

// TestEveryFeatureHasARow: each feature of ENGRAM 0.1 has a row, and each command,
// flag, tool, package and heading that a row names exists.
func TestEveryFeatureHasARow(t *testing.T) {
	page := docsPage(t, "memory.md")
	_, section, found := strings.Cut(page, "\n## What ENGRAM 0.1 names, and what we do\n")
	if !found {
		t.Fatal("docs/memory.md has no such section")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	root := root.New(cliutil.New(&cliutil.System{}))
	tools := docsPage(t, "mcp.md")
	var first strings.Builder
	for line := range strings.SplitSeq(section, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| ENGRAM") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 {
			t.Errorf("a row with %d cells: %s", len(cells), line)
			continue
		}
		first.WriteString(cells[0] + "\n")
		if strings.TrimSpace(cells[2]) == "" && !strings.Contains(cells[1], "*follows*") {
			t.Errorf("a row says neither where it is nor that it follows: %s", line)
		}
		for _, m := range span.FindAllStringSubmatch(cells[2], -1) {
			switch name := m[1]; {
			case strings.HasPrefix(name, "engramctl "):
				checkCommand(t, root, name)
			case tool.MatchString(name):
				if !strings.Contains(tools, "| `"+name+"` |") {
					t.Errorf("docs/mcp.md has no tool %s", name)
				}
			default:
				if _, err := os.Stat(filepath.Join("../..", name)); err != nil {
					t.Errorf("%s is neither command nor tool nor package: %v", name, err)
				}
			}
		}
		for _, m := range pointer.FindAllStringSubmatch(line, -1) {
			target := page
			if m[1] != "" {
				target = docsPage(t, m[1])
			}
			if m[2] != "" && !hasHeading(target, m[2][1:]) {
				t.Errorf("%s%s is no heading", m[1], m[2])
			}
		}
	}
	for _, name := range named {
		if !strings.Contains(strings.ReplaceAll(first.String(), "`", ""), name) {
			t.Errorf("no row names %s", name)
		}
	}
}

// checkCommand fails unless a command line without arguments names a command
// and flags that it has.
func checkCommand(t *testing.T, root *cobra.Command, line string) {
	t.Helper()
	words := strings.Fields(line)
	flags := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") })
	if flags < 0 {
		flags = len(words)
	}
	cmd, _, err := root.Find(words[1:flags])
	if err != nil || cmd.CommandPath() != strings.Join(words[:flags], " ") {
		t.Errorf("there is no command %s", strings.Join(words[:flags], " "))
		return
	}
	for _, w := range words[flags:] {
		if name := strings.TrimPrefix(w, "--"); !hasFlag(name, cmd.Flags(), cmd.InheritedFlags(), cmd.PersistentFlags()) {
			t.Errorf("%s has no flag --%s", cmd.CommandPath(), name)
		}
	}
}

func hasFlag(name string, sets ...*pflag.FlagSet) bool {
	return slices.ContainsFunc(sets, func(s *pflag.FlagSet) bool { return s.Lookup(name) != nil })
}

// hasHeading reports whether a page has a heading with an anchor.
func hasHeading(page, anchor string) bool {
	for line := range strings.SplitSeq(page, "\n") {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		made := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_':
				return r
			}
			return -1
		}, strings.ToLower(strings.TrimSpace(title)))
		if made == anchor {
			return true
		}
	}
	return false
}

func docsPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
