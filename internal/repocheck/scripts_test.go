package repocheck

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestScriptsRunToTheirEnd: testscript's "stop" ends a script as passed,
// whatever follows, and hides a command of ours by that name. The same holds
// for "skip" without a condition. A relay is ended by "halt".
func TestScriptsRunToTheirEnd(t *testing.T) {
	found := map[string]int{}
	for _, dir := range []string{"cmd", "internal", "nips", "migrations"} {
		err := filepath.WalkDir("../../"+dir, func(name string, entry fs.DirEntry, err error) error {
			name = filepath.ToSlash(name)
			if err != nil || entry.IsDir() || !strings.Contains(name, "/testdata/script/") || !slices.Contains([]string{".txtar", ".txt"}, path.Ext(name)) {
				return err
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			found[path.Dir(name)]++
			for _, line := range earlyEnds(text) {
				t.Errorf("%s:%d ends the script as passed", name, line)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"../../cmd/engramctl/testdata/script", "../../internal/relay/daemon/command/testdata/script"} {
		if found[dir] < 10 {
			t.Errorf("%d scripts in %s: this test reads the wrong thing", found[dir], dir)
		}
	}
}

// earlyEnds returns the lines, from 1, that end a script before its last.
func earlyEnds(text []byte) (lines []int) {
	n := 0
	for line := range strings.Lines(string(txtar.Parse(text).Comment)) {
		n++
		words := strings.Fields(strings.ReplaceAll(line, "'", ""))
		conditions := 0
		for len(words) > 0 && strings.HasPrefix(words[0], "[") {
			words = words[1:]
			conditions++
		}
		if len(words) > 0 && (words[0] == "stop" || words[0] == "skip" && conditions == 0) {
			lines = append(lines, n)
		}
	}
	return lines
}

func TestEarlyEnds(t *testing.T) {
	for script, want := range map[string][]int{
		"relay R\nstop R\nctl 0 log\n":                {2},
		"\n  stop\n[unix] stop 'it is enough'\n":      {2, 3},
		"[unix] [!race] stop\n'stop'\n":               {1, 2},
		"skip\nskip 'not now'\n[windows] skip 'sh'\n": {1, 2},
		"relay R\nhalt R\nctl 0 hook stop\n# stop\nstdout 'stop it'\nstopped\n[unix] ctl 0 hook stop\n": nil,
		"halt R\n-- file --\nstop\nskip\n": nil,
	} {
		if got := earlyEnds([]byte(script)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", script, got, want)
		}
	}
}
