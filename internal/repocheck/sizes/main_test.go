package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSizes(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"internal/a/a.go":                      "package a\n\ntype T[K any] struct{}\n\nfunc (t *T[K]) One() {}\nfunc (T[K]) Two() {}\n",
		"internal/a/a_test.go":                 "package a\n",
		"internal/a/atest/b.go":                "package atest\n\ntype Many int\n\nfunc (Many) M() {}\n",
		"internal/e2e/siege/main.go":           "package main\n",
		"internal/e2e/rig/rig.go":              "package rig\n",
		"internal/gate/oracle/oracle.go":       "package oracle\n",
		"internal/web/src/app.mjs":             "x\n",
		"internal/web/src/icon.svg":            "x\n",
		"internal/web/dist/app.js":             "x\n",
		"cmd/engram-load/main.go":              "package main\n",
		"cmd/engram-load/internal/x/x_test.go": "package x\n",
		"testdata/peers/main.go":               "package main\n",
		"testdata/x/node_modules/n.go":         "no Go\n",
		"README.md":                            "text\n",
	} {
		write(t, root, path, text)
	}
	var out strings.Builder
	if err := run(&out, root); err != nil {
		t.Fatal(err)
	}
	const want = `product        6 lines in    1 files
page           1 lines in    1 files
tests          9 lines in    5 files
bench          3 lines in    3 files
               6 internal/a
`
	if out.String() != want {
		t.Errorf("got:\n%s", out.String())
	}
	for name, text := range map[string]string{
		"internal/cli/a/a.go": "package a\n" + strings.Repeat("\n", maxCommand),
		"internal/b/b.go":     "package b\n" + strings.Repeat("\n", maxPackage),
		"internal/c/c.go":     "package c\n" + strings.Repeat("func (T) M() {}\n", maxMethods+1),
	} {
		root := t.TempDir()
		write(t, root, name, text)
		if err := run(io.Discard, root); err == nil {
			t.Errorf("%s is not beyond its limit", name)
		}
	}
	write(t, root, "broken.go", "package")
	if err := run(&out, root); err == nil {
		t.Error("a file that is no Go was counted")
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
