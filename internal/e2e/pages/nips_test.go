package pages

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestNIPsFromAnotherModule makes the module that docs/nips.md shows, beside
// the sources, and compares its output with the page. Nothing is downloaded:
// the example needs only modules that engramd needs.
func TestNIPsFromAnotherModule(t *testing.T) {
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "nips.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := func(language string) (all []string) {
		for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
			all = append(all, m[1])
		}
		return all
	}
	programs, commands := blocks("go"), blocks("sh")
	if len(programs) != 1 || len(commands) != 2 {
		t.Fatalf("%d programs and %d blocks of commands", len(programs), len(commands))
	}
	dir := t.TempDir()
	if err := os.Symlink(root, filepath.Join(dir, "engramd")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "example"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "example", "main.go"), []byte(programs[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.Join(commands, ""))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if said := strings.TrimSpace(string(out)); said == "" || !strings.Contains(string(page), "It prints `"+said+"`.") {
		t.Errorf("printed %q, which the page does not say", said)
	}
}

// TestNIPsPageNamesThePackages: the page names every package below nips.
func TestNIPsPageNamesThePackages(t *testing.T) {
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "nips.md"))
	if err != nil {
		t.Fatal(err)
	}
	folders, err := os.ReadDir(filepath.Join(root, "nips"))
	if err != nil || len(folders) == 0 {
		t.Fatal(err)
	}
	for _, f := range folders {
		if !strings.Contains(string(page), "| `engramd/nips/"+f.Name()+"` |") {
			t.Errorf("nips/%s is not on the page", f.Name())
		}
	}
}
