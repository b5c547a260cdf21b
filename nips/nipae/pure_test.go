package nipae

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPackageIsPure: no I/O, no clock, no randomness and no state of its own.
func TestPackageIsPure(t *testing.T) {
	forbidden := []string{"os", "net/http", "io/fs", "crypto/rand", "math/rand", "math/rand/v2", "context", "sync", "log",
		"encoding/json", "engramd/internal/protocol/wire", "database/sql"}
	calls := []string{"time.Now", "time.Since", "time.Sleep", "net.Dial", "net.LookupHost", "slog.Info", "slog.Default", "nostr.Now"}
	files := token.NewFileSet()
	entries, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil || len(entries) < 10 {
		t.Fatal(len(entries), err)
	}
	for _, name := range entries {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range file.Imports {
			if path, _ := strconv.Unquote(imported.Path.Value); slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s", name, path)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(calls, pkg.Name+"."+sel.Sel.Name) {
					t.Errorf("%s: calls %s.%s", files.Position(n.Pos()), pkg.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}
