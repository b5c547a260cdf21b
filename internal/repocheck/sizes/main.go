// Command sizes counts the lines of the repository by part and wing, and fails
// where a type or a package of the product is beyond its limit. The parts are
// frozen: a file that moves stays in its part.
//
//	make lines
//	go run ./internal/repocheck/sizes FOLDER
package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Parts, in the order in which they are printed. The product is the Go code of
// all modules that are shipped; the page is the sources of the owner's page.
const (
	product = "product"
	page    = "page"
	tests   = "tests"
	bench   = "bench"
)

var parts = []string{product, page, tests, bench}

// Folders of code that no shipped program contains, with their names before and
// after the packages moved into wings.
var (
	testFolders = []string{
		"internal/e2e/", "internal/layout/", "internal/repocheck/",
		"internal/gate/oracle/", "internal/relay/gate/oracle/",
		"internal/contracts/contracttest/",
	}
	benchFolders = []string{
		"cmd/engram-load/", "testdata/peers/", "internal/e2e/siege/",
		"internal/recall/measure/", "internal/memory/recall/measure/",
	}
)

// Limits of a package, of one of the command line, and of a type.
const (
	maxPackage = 6000
	maxCommand = 1500
	maxMethods = 30

	commands = "internal/cli/"
)

const pageFolder = "internal/web/src/"

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(os.Stdout, root); err != nil {
		fmt.Fprintln(os.Stderr, "sizes:", err)
		os.Exit(1)
	}
}

// run prints the sizes of the sources in a folder.
func run(out io.Writer, root string) error {
	c := count{files: map[string]int{}, lines: map[string]int{}, wings: map[string]int{}, packages: map[string]int{}, methods: map[string]int{}}
	if err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "bin" || len(d.Name()) > 1 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || partOf(name) == "":
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		return c.add(name, text)
	}); err != nil {
		return err
	}
	c.print(out)
	return c.check()
}

// count is the lines and files of each part, and for the product the lines of
// each wing and package and the methods of each type.
type count struct {
	files, lines    map[string]int
	wings, packages map[string]int
	methods         map[string]int
}

func (c *count) add(name string, text []byte) error {
	part, lines := partOf(name), bytes.Count(text, []byte("\n"))
	c.files[part]++
	c.lines[part] += lines
	if part != product {
		return nil
	}
	c.wings[wingOf(name)] += lines
	c.packages[path.Dir(name)] += lines
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
			c.methods[path.Dir(name)+"."+receiver(f.Recv.List[0].Type)]++
		}
	}
	return nil
}

// partOf returns the part of a file, "" for one that is not counted.
func partOf(name string) string {
	in := func(folders []string) bool {
		return slices.ContainsFunc(folders, func(f string) bool { return strings.HasPrefix(name, f) })
	}
	ext := path.Ext(name)
	switch {
	case strings.HasPrefix(name, pageFolder):
		if slices.Contains([]string{".mjs", ".css", ".html"}, ext) {
			return page
		}
		return ""
	case ext != ".go":
		return ""
	case strings.HasSuffix(name, "_test.go"):
		return tests
	case in(benchFolders):
		return bench
	case in(testFolders), strings.HasSuffix(path.Dir(name), "test"), strings.HasPrefix(name, "testdata/"):
		return tests
	}
	return product
}

// wingOf returns the first folder of a file, or the first two below internal.
func wingOf(name string) string {
	first, rest, _ := strings.Cut(name, "/")
	if first == "internal" {
		second, _, _ := strings.Cut(rest, "/")
		return first + "/" + second
	}
	return first
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
		fmt.Fprintf(out, "%-8s %7d lines in %4d files\n", part, c.lines[part], c.files[part])
	}
	for _, wing := range largest(c.wings, 0) {
		fmt.Fprintf(out, "%16d %s\n", c.wings[wing], wing)
	}
}

// check returns an error that names each package and type beyond its limit.
func (c *count) check() error {
	var beyond []error
	for _, name := range largest(c.packages, maxCommand) {
		if n := c.packages[name]; n > maxPackage || strings.HasPrefix(name, commands) {
			beyond = append(beyond, fmt.Errorf("package %s has %d lines", name, n))
		}
	}
	for _, name := range largest(c.methods, maxMethods) {
		beyond = append(beyond, fmt.Errorf("type %s has %d methods", name, c.methods[name]))
	}
	return errors.Join(beyond...)
}

// largest returns the names with more than a number, the largest first.
func largest(of map[string]int, than int) []string {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(of)), func(n string) bool { return of[n] <= than })
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Or(of[b]-of[a], strings.Compare(a, b))
	})
}
