package unit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestForwardsEveryName: each exported name of frontmatter is here too.
func TestForwardsEveryName(t *testing.T) {
	want, have := exported(t, "../frontmatter"), exported(t, ".")
	if !slices.Equal(want, have) {
		t.Errorf("frontmatter exports\n%v\nand this package\n%v", want, have)
	}
}

func exported(t *testing.T, dir string) (names []string) {
	t.Helper()
	product := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), dir, product, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range packages {
		for _, file := range pkg.Files {
			for name := range file.Scope.Objects {
				if ast.IsExported(name) {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}
