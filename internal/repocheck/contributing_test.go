package repocheck

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// walks are the tasks of CONTRIBUTING.md and how many files, or folders, each
// may touch.
var walks = map[string]int{"A new gated kind": 4, "A second store": 1, "A new command": 4, "A bug in COUNT": 5, "A new surface": 3, "A new write of the store": 4, "A new migration": 2}

var (
	walkStep = regexp.MustCompile("(?m)^[0-9]+\\. (`[^`]+`)?")
	walkFile = regexp.MustCompile("`((?:cmd|docs|internal|migrations|nips|testdata)/[A-Za-z0-9_./-]*|[A-Z]+\\.md|Makefile)`( \\(new\\))?")
	walkHead = regexp.MustCompile(`^([^\n(]*?)(?: \(([0-9]+) (?:files|folder)\))?\n`)
)

// TestContributingLeadsToFiles: every file that CONTRIBUTING.md names exists;
// one that is marked as new does not, and its folder does; and no task touches
// more files than it may.
func TestContributingLeadsToFiles(t *testing.T) {
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	named := walkFile.FindAllStringSubmatch(string(page), -1)
	if len(named) < 30 {
		t.Errorf("only %d files are named: this test reads the wrong thing", len(named))
	}
	for _, m := range named {
		path, isNew := m[1], m[2] != ""
		if exists(path) == isNew {
			t.Errorf("%s: exists %v, and the page calls it new %v", path, !isNew, isNew)
		}
		if isNew && !exists(filepath.Dir(strings.TrimSuffix(path, "/"))) {
			t.Errorf("%s would be new in a folder that does not exist", path)
		}
	}
	seen := 0
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		head := walkHead.FindStringSubmatch(section)
		most, ok := walks[head[1]]
		if !ok {
			continue
		}
		seen++
		steps := walkStep.FindAllStringSubmatch(section, -1)
		files := 0
		for _, step := range steps {
			if step[1] != "" {
				files++
			}
		}
		if len(steps) == 0 || len(steps) > most {
			t.Errorf("%s: %d steps, want 1 to %d", head[1], len(steps), most)
		}
		if said, _ := strconv.Atoi(head[2]); head[2] != "" && (said != files || files != len(steps)) {
			t.Errorf("%s: %d steps name a file, and the heading says %d", head[1], files, said)
		}
	}
	if seen != len(walks) {
		t.Errorf("%d of %d tasks are there", seen, len(walks))
	}
}

// exists reports whether a path of the page exists.
func exists(path string) bool {
	_, err := os.Stat(filepath.Join("../..", path))
	return err == nil
}
