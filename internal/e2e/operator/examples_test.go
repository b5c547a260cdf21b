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
	"engramd/internal/e2e/pages"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// TestDocs_ManagementExamplesWork runs the examples of docs/management.md one
// after the other in a shell, and compares the output with the page.
func TestDocs_ManagementExamplesWork(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			notrun.Skip(t, fmt.Sprintf("the examples need %s: %v", tool, err))
		}
	}
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "management.md"))
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eo pipefail\n"
	var shown []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		script += block[1]
		for line := range strings.Lines(block[1]) {
			if want, ok := strings.CutPrefix(line, "# "); ok {
				shown = append(shown, strings.TrimSpace(want))
			}
		}
	}
	key := filepath.Join(t.TempDir(), "admin.key")
	if err := os.WriteFile(key, []byte(rig.ManagerKey().Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	bin, err := pages.Install(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	relay := rig.StartManaged(t, relaytest.Options{})
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = root
	cmd.Env = append(relaytest.CleanEnv(), "RELAY="+relay.HTTP(""), "ENGRAM_KEY_FILE="+key, "TMPDIR="+t.TempDir(), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rest := string(out)
	for _, want := range shown {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*?")
		at := regexp.MustCompile(`(?m)^` + pattern + `\s*$`).FindStringIndex(rest)
		if at == nil {
			t.Fatalf("the examples do not print %q; the rest of what they print:\n%s", want, rest)
		}
		rest = rest[at[1]:]
	}
	if len(shown) < 8 {
		t.Errorf("only %d lines of output are shown", len(shown))
	}
	for _, method := range managementMethodNames(relay) {
		if !strings.Contains(string(page), "`"+method+"`") {
			t.Errorf("docs/management.md lacks %s", method)
		}
	}
}

func managementMethodNames(relay *rig.ManagedRelay) (names []string) {
	for name := range managementMethods(relay) {
		names = append(names, name)
	}
	return names
}
