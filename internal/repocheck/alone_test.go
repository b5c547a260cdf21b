package repocheck

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fromMakefile returns the words of a list in the Makefile.
func fromMakefile(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + ` *:= (.*)$`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatalf("no %s in the Makefile", name)
	}
	return strings.Fields(m[1])
}

// TestAloneIsAlone: the packages that make test runs without the race detector
// start no goroutine, nor do their tests and imports; and contain no C, whose
// pointers that build checks more thoroughly.
func TestAloneIsAlone(t *testing.T) {
	for _, name := range fromMakefile(t, "ALONE") {
		files := map[string]bool{}
		of := func(dir string, lists ...[]string) {
			for _, file := range slices.Concat(lists...) {
				files[filepath.Join(dir, file)] = true
			}
		}
		dec := json.NewDecoder(strings.NewReader(goList(t, product, "-test", "-deps",
			"-json=ImportPath,Dir,Standard,Module,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles", "./"+name)))
		for dec.More() {
			var pkg struct {
				ImportPath, Dir                              string
				GoFiles, CgoFiles, TestGoFiles, XTestGoFiles []string
			}
			if err := dec.Decode(&pkg); err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(pkg.ImportPath, "engramd/") || strings.ContainsAny(pkg.ImportPath, " ") || strings.HasSuffix(pkg.ImportPath, ".test") {
				continue
			}
			if of(pkg.Dir, pkg.GoFiles); pkg.ImportPath == "engramd/"+name {
				if len(pkg.CgoFiles) > 0 {
					t.Errorf("%s has C: %v", name, pkg.CgoFiles)
				}
				of(pkg.Dir, pkg.TestGoFiles, pkg.XTestGoFiles)
			}
		}
		if len(files) == 0 {
			t.Errorf("%s has no file", name)
		}
		for file := range files {
			for _, at := range starts(t, file) {
				t.Errorf("%s, with which %s is run, starts a goroutine: make test has to run %s with the race detector", at, name, name)
			}
		}
	}
}

// starts returns the places in a file where a goroutine is started, as far as
// the source shows.
func starts(t *testing.T, path string) (all []token.Position) {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			all = append(all, files.Position(n.Pos()))
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Go", "Parallel", "RunParallel", "AfterFunc", "NewServer"}, called.Sel.Name) {
				all = append(all, files.Position(n.Pos()))
			}
		}
		return true
	})
	return all
}

// TestWhatStartsIsSeen: goroutines are found in the files of packages that
// start some.
func TestWhatStartsIsSeen(t *testing.T) {
	if n := len(starts(t, "../relay/store/sqlite/engine/open.go")); n != 1 {
		t.Errorf("%d goroutines are started there, want 1", n)
	}
}
