package operator

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestDocs_NameEveryRegressionTest: every test that docs/khatru.md names
// exists, and it names every test for a fault of khatru.
func TestDocs_NameEveryRegressionTest(t *testing.T) {
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "khatru.md"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range declaration.FindAllSubmatch(text, -1) {
			declared[string(m[1])] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(page), -1) {
		if !declared[name[1]] {
			t.Errorf("docs/khatru.md names %s, which does not exist", name[1])
		}
	}
	for name := range declared {
		if strings.HasPrefix(name, "TestKhatruFault_") && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/khatru.md lacks %s", name)
		}
	}
}
