package repocheck

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestKindsHaveOneNumber: a kind of event has one name, in go-nostr or in a
// package of nips; a second declaration could differ. The gate's table may have
// kinds without a name. Support packages write numbers, so that they do not
// share a mistake.
func TestKindsHaveOneNumber(t *testing.T) {
	declared := map[string]string{} // number → where, of nips
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && name != "." || isSupport(short(name))):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for constant, number := range kindNumbers(t, path) {
			switch {
			case strings.HasPrefix(name, "internal/relay/gate/"):
			case !strings.HasPrefix(name, "nips/"):
				t.Errorf("%s: %s = %s: take the name from go-nostr or nips", name, constant, number)
			case declared[number] != "":
				t.Errorf("%s: %s = %s is in %s already", name, constant, number, declared[number])
			}
			declared[number] = name
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(declared) < 5 {
		t.Errorf("only %d kinds are declared: this test looks at the wrong thing", len(declared))
	}
}

// kindNumbers returns the constants of a file that give a kind a number: those
// with such a name, and all of nips/kind.
func kindNumbers(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		for _, spec := range gen.Specs {
			values := spec.(*ast.ValueSpec)
			for i, name := range values.Names {
				called := file.Name.Name == "kind" || strings.HasPrefix(strings.ToLower(name.Name), "kind")
				if !called || i >= len(values.Values) {
					continue
				}
				if literal, ok := values.Values[i].(*ast.BasicLit); ok && literal.Kind == token.INT {
					found[name.Name] = literal.Value
				}
			}
		}
	}
	return found
}
