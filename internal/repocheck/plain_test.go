package repocheck

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestPlainIsPlain: the packages that make test builds without the race
// detector, in programs that have it, are other projects' code that the product
// uses, and start no goroutine.
func TestPlainIsPlain(t *testing.T) {
	plain := fromMakefile(t, "PLAIN")
	var found []string
	dec := json.NewDecoder(strings.NewReader(goList(t, product, append([]string{"-deps", "-json=ImportPath,Dir,GoFiles,CgoFiles"}, "./...")...)))
	for dec.More() {
		var pkg struct {
			ImportPath, Dir   string
			GoFiles, CgoFiles []string
		}
		if err := dec.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(plain, pkg.ImportPath) {
			continue
		}
		if found = append(found, pkg.ImportPath); strings.HasPrefix(pkg.ImportPath, "engramd/") || len(pkg.CgoFiles) > 0 {
			t.Errorf("%s is ours, or has C", pkg.ImportPath)
		}
		for _, file := range pkg.GoFiles {
			for _, at := range starts(t, filepath.Join(pkg.Dir, file)) {
				t.Errorf("%s starts a goroutine: the race detector has to watch %s", at, pkg.ImportPath)
			}
		}
	}
	for _, name := range plain {
		if !slices.Contains(found, name) {
			t.Errorf("PLAIN names %s, which is not linked", name)
		}
	}
	if !slices.IsSorted(plain) || slices.ContainsFunc(plain, func(s string) bool { return strings.Contains(s, "...") }) {
		t.Errorf("PLAIN is to name packages, in order: %v", plain)
	}
}
