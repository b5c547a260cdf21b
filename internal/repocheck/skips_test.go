package repocheck

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayDecide are the conditions under which a test may be skipped silently: a
// run that asks for it, or does not (make cluster-soak, make cluster-figures),
// and another build, in which make test or make test-long runs it.
var mayDecide = []string{"testing.Short()", "raceEnabled", "SearchEnabled()", "nodes.Soak()", "figuresVar"}

// TestNothingIsSkippedInSilence: a test that is skipped because of the machine
// uses internal/e2e/notrun, whose notes make test shows.
func TestNothingIsSkippedInSilence(t *testing.T) {
	allowed, files := 0, token.NewFileSet()
	for _, dir := range []string{"cmd", "internal", "nips", "migrations"} {
		err := filepath.WalkDir("../../"+dir, func(path string, entry fs.DirEntry, err error) error {
			path = filepath.ToSlash(path)
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, "/e2e/notrun/") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"testing"` }) {
				return nil
			}
			all, silent := skips(files, file)
			allowed += all - len(silent)
			for _, at := range silent {
				t.Errorf("%s skips a test in silence: use notrun.Skip", at)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if allowed < 3 {
		t.Errorf("%d calls of Skip are allowed: this test reads the wrong thing", allowed)
	}
}

// skips counts the calls of Skip in a file, and names those that no condition
// of mayDecide guards.
func skips(files *token.FileSet, file *ast.File) (all int, silent []token.Position) {
	decided := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			var text strings.Builder
			printer.Fprint(&text, files, n.Cond)
			if slices.ContainsFunc(mayDecide, func(s string) bool { return strings.Contains(text.String(), s) }) {
				ast.Inspect(n.Body, func(inner ast.Node) bool {
					decided[inner] = true
					return true
				})
			}
		case *ast.CallExpr:
			called, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, called.Sel.Name) {
				break
			}
			if of, ok := called.X.(*ast.Ident); !ok || of.Name == "notrun" {
				break
			}
			all++
			if !decided[n] {
				silent = append(silent, files.Position(n.Pos()))
			}
		}
		return true
	})
	return all, silent
}
