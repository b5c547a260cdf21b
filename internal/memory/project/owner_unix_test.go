//go:build unix

package project

import (
	"engramd/internal/e2e/notrun"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOthersFolders: the .git of another user names nothing, unless a person
// vouches for it.
func TestOthersFolders(t *testing.T) {
	if os.Geteuid() != 0 {
		notrun.Skip(t, "only root gives files away")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, ".git", "config"), "[remote \"origin\"]\nurl = https://x.org/ana/atlas\n")
	mine := filepath.Join(dir, "mine")
	mkdir(t, mine)
	if p := at(t, mine); p.Folder != dir || p.Remote == "" {
		t.Errorf("it is %+v", p)
	}
	for _, given := range []string{dir, filepath.Join(dir, ".git")} {
		if err := os.Chown(given, 12345, 12345); err != nil {
			notrun.Skip(t, "files cannot be given away here: "+err.Error())
		}
		if p := at(t, mine); p.Folder != mine || p.Remote != "" || !strings.Contains(p.Doubt, "another user") {
			t.Errorf("%s is another user's, and it is %+v", given, p)
		}
		if p, err := Claimed(mine); err != nil || p.Folder != dir || p.Remote == "" {
			t.Errorf("vouched for it is %+v, %v", p, err)
		}
		if err := os.Chown(given, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}
