package operator

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestDocs_HTTPExamplesWork runs the examples of docs/http.md one after the
// other in a shell, against a relay.
func TestDocs_HTTPExamplesWork(t *testing.T) { runExamples(t, "http.md", 6) }

// TestDocs_ContractExamplesWork does the same with docs/contracts.md.
func TestDocs_ContractExamplesWork(t *testing.T) {
	ctl, err := relaytest.Binary(relaytest.Ctl)
	if err != nil {
		t.Fatal(err)
	}
	runExamples(t, "contracts.md", 42, "ENGRAM_BIN="+filepath.Dir(ctl))
}

// runExamples runs a page's examples and compares the output with the page, at
// least this many lines.
func runExamples(t *testing.T, name string, least int, env ...string) {
	t.Helper()
	for _, tool := range []string{"bash", "curl", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			notrun.Skip(t, fmt.Sprintf("the examples need %s: %v", tool, err))
		}
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eo pipefail\n"
	var shown []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			if want, ok := strings.CutPrefix(line, "# "); ok {
				shown = append(shown, strings.TrimSpace(want))
			}
		}
		script += block[1] + "echo\n"
	}
	relay := rig.Start(t)
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = root
	cmd.Env = append(append(relaytest.CleanEnv(), "RELAY="+relay.HTTP(""), "TMPDIR="+t.TempDir()), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The output contains the page's lines in this order; … stands for any text.
	rest := strings.ReplaceAll(string(out), "\r", "")
	for _, want := range shown {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*?")
		at := regexp.MustCompile(`(?m)^` + pattern + `\s*$`).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("the examples do not print %q; what they print, or the rest of it:\n%s", want, rest)
		}
		rest = rest[at[1]:]
	}
	if len(shown) < least {
		t.Errorf("only %d lines of output are shown", len(shown))
	}
}
