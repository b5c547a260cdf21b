package repocheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestShortenedIsRunAgain: every test that is shortened or skipped under the
// race detector is among those that make test-long runs without it.
func TestShortenedIsRunAgain(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	line := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + ` *= (.*)$`).FindStringSubmatch(string(text))
		if m == nil {
			t.Fatalf("no %s in the Makefile", name)
		}
		return m[1]
	}
	run, packages := regexp.MustCompile(strings.ReplaceAll(line("AGAIN"), "$$", "$")), strings.Fields(line("AGAIN_PKGS"))
	var found []string
	for _, dir := range raceAware(t) {
		found = append(found, "./"+dir)
		tests := milder(t, filepath.Join("../..", dir))
		if len(tests) == 0 {
			t.Errorf("%s asks whether there is a race detector, and no test there heeds it", dir)
		}
		for _, name := range tests {
			if !run.MatchString(name) {
				t.Errorf("%s in %s heeds the race detector: AGAIN in the Makefile does not match it", name, dir)
			}
		}
	}
	if slices.Sort(found); !slices.Equal(found, packages) {
		t.Errorf("AGAIN_PKGS is %v, want %v", packages, found)
	}
}

// raceAware returns the folders whose tests have files of their own for the
// race detector.
func raceAware(t *testing.T) (dirs []string) {
	t.Helper()
	for _, top := range []string{"cmd", "internal", "nips", "migrations"} {
		err := filepath.WalkDir(filepath.Join("../..", top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.HasPrefix(string(text), "//go:build race\n") {
				dir, _ := filepath.Rel("../..", filepath.Dir(path))
				dirs = append(dirs, filepath.ToSlash(dir))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// milder returns the tests of a folder that use the constants of those files,
// directly or through functions of the tests.
func milder(t *testing.T, dir string) (tests []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	uses, heeding := map[string]map[string]bool{}, map[string]bool{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(string(text), "//go:build race\n") {
			for name := range file.Scope.Objects {
				heeding[name] = true
			}
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				uses[f.Name.Name] = identifiers(f)
			}
		}
	}
	for grown := true; grown; {
		grown = false
		for name, used := range uses {
			for word := range used {
				if heeding[word] && !heeding[name] {
					heeding[name], grown = true, true
				}
			}
		}
	}
	for name := range uses {
		if heeding[name] && strings.HasPrefix(name, "Test") {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests
}

func identifiers(f *ast.FuncDecl) map[string]bool {
	words := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			words[id.Name] = true
		}
		return true
	})
	return words
}
