package repocheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPromiseHasItsTest: each promise of docs/promises.md links at least one
// test, which is in that file.
func TestEveryPromiseHasItsTest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "promises.md"))
	if err != nil {
		t.Fatal(err)
	}
	promises := 0
	for line := range strings.Lines(string(text)) {
		promise, ok := strings.CutPrefix(line, "- ")
		if !ok {
			continue
		}
		promises++
		if missing := withoutTest(promise, func(path string) (string, error) {
			source, err := os.ReadFile(filepath.Join("..", "..", "docs", path))
			return string(source), err
		}); missing != "" {
			t.Errorf("%.60s…: %s", promise, missing)
		}
	}
	if promises < 20 {
		t.Errorf("%d promises only: the page is not read as it is written", promises)
	}
}

var testLink = regexp.MustCompile(`\[(Test\w+)\]\(([^)]+_test\.go)\)`)

// withoutTest says which linked test of a promise is not there, "" if all are.
func withoutTest(promise string, read func(path string) (string, error)) string {
	links := testLink.FindAllStringSubmatch(promise, -1)
	if len(links) == 0 {
		return "no test is linked"
	}
	for _, l := range links {
		source, err := read(l[2])
		if err != nil {
			return err.Error()
		}
		if !strings.Contains(source, "\nfunc "+l[1]+"(t *testing.T)") {
			return l[2] + " has no " + l[1]
		}
	}
	return ""
}

// TestPromisesWithoutTestsAreFound: the test above would find one.
func TestPromisesWithoutTestsAreFound(t *testing.T) {
	read := func(path string) (string, error) {
		if path != "../x_test.go" {
			return "", os.ErrNotExist
		}
		return "package x\n\nfunc TestX(t *testing.T) {}\n", nil
	}
	for promise, found := range map[string]bool{
		"All is well. [TestX](../x_test.go)":                        false,
		"All is well.":                                              true,
		"All is well. [TestY](../x_test.go)":                        true,
		"All is well. [TestX](../x_test.go), [TestX](../y_test.go)": true,
	} {
		if got := withoutTest(promise, read) != ""; got != found {
			t.Errorf("%s: found %v", promise, got)
		}
	}
}
