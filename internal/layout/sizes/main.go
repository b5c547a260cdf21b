// Command sizes prints how much Go there is, in lines: of the product, of its
// tests and what only they use, of engram-load and of its tests; and which
// types of the product have the most methods.
//
//	make lines
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The parts that lines are counted for, in the order in which they are printed.
const (
	product   = "product"
	tests     = "product tests"
	load      = "engram-load"
	loadTests = "engram-load tests"
	peers     = "peers"
)

var parts = []string{product, tests, load, loadTests, peers}

// support are packages that only tests and measurements use, beside those of
// which the name ends in test.
var support = []string{"internal/e2e/", "internal/gate/oracle/", "internal/layout/", "internal/recall/measure/"}

// mostTypes is how many types are printed.
const mostTypes = 5

func main() {
	if err := run(os.Stdout, "."); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// run prints the sizes of what lies in a folder of the sources.
func run(out io.Writer, root string) error {
	c := count{files: map[string]int{}, lines: map[string]int{}, methods: map[string]int{}}
	if err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "bin" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		return c.add(path, text)
	}); err != nil {
		return err
	}
	c.print(out)
	return nil
}

// count is what was found.
type count struct {
	files, lines map[string]int // by part
	methods      map[string]int // of the product, by folder and type
}

func (c *count) add(path string, text []byte) error {
	part := partOf(path)
	c.files[part]++
	c.lines[part] += bytes.Count(text, []byte("\n"))
	if part != product {
		return nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
			c.methods[filepath.Dir(path)+"."+receiver(f.Recv.List[0].Type)]++
		}
	}
	return nil
}

// partOf returns the part that a file belongs to.
func partOf(path string) string {
	test := strings.HasSuffix(path, "_test.go")
	switch {
	case strings.HasPrefix(path, "testdata/peers/"):
		return peers
	case strings.HasPrefix(path, "cmd/engram-load/") && test:
		return loadTests
	case strings.HasPrefix(path, "cmd/engram-load/"):
		return load
	case test, strings.HasSuffix(filepath.Dir(path), "test"),
		slices.ContainsFunc(support, func(s string) bool { return strings.HasPrefix(path, s) }):
		return tests
	}
	return product
}

// receiver returns the name of a method's type.
func receiver(e ast.Expr) string {
	switch t := e.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

func (c *count) print(out io.Writer) {
	for _, part := range parts {
		fmt.Fprintf(out, "%-17s %7d lines in %4d files\n", part, c.lines[part], c.files[part])
	}
	largest := slices.SortedFunc(maps.Keys(c.methods), func(a, b string) int {
		return cmp.Or(c.methods[b]-c.methods[a], strings.Compare(a, b))
	})
	for _, name := range largest[:min(mostTypes, len(largest))] {
		fmt.Fprintf(out, "%7d methods of %s\n", c.methods[name], name)
	}
}
