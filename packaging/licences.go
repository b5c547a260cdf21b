package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"unicode"
)

var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|unlicense)([.-].*)?$`)

// licences has the terms of every module that is linked into p, of Go, and of
// the libraries in C: most ask that binaries carry them.
func (r *release) licences(p program) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "What is linked into %s besides its own source, and on what terms.\n", p.name)
	for _, m := range modules(p.info) {
		// A module may hold others' code in folders with terms of their own.
		if err := addLicence(&out, m.Path+" "+m.Version, filepath.Join(r.modules, escapePath(m.Path)+"@"+m.Version), true); err != nil {
			return nil, err
		}
	}
	if err := addLicence(&out, "Go "+p.info.GoVersion, runtime.GOROOT(), false); err != nil {
		return nil, err
	}
	// The owner's page, which both programs have in them.
	_, page, _ := bytes.Cut(r.page, []byte("\n=="))
	fmt.Fprintf(&out, "\n==%s", page)
	if p.name == "engramctl" { // cobra, above, has the text of the Apache License
		fmt.Fprintf(&out, "\n== %s\n", bytes.TrimSpace(r.matrix))
	}
	if p.name == "engramd" {
		fmt.Fprintf(&out, "\n== libsecp256k1, inside github.com/nbd-wtf/go-nostr\n\n%s\n", bytes.TrimSpace(asset("licences/libsecp256k1.txt")))
		fmt.Fprintf(&out, "\n== %s\n\nGNU Lesser General Public License, version 2.1 or later. It is linked\nstatically; the source of engramd and its Makefile link it with another one.\n\n%s\n",
			r.libc, bytes.Trim(asset("licences/LGPL-2.1.txt"), "\n"))
	}
	return out.Bytes(), nil
}

// addLicence writes the licence files of a folder, and if deep is true those
// of the folders in it that are linked or may be.
func addLicence(out *bytes.Buffer, title, folder string, deep bool) error {
	fmt.Fprintf(out, "\n== %s\n", title)
	seen := map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		if e.IsDir() {
			if !deep || notLinked(e.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if !licenceName.MatchString(e.Name()) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || seen[string(bytes.TrimSpace(text))] {
			return err
		}
		text = bytes.TrimSpace(text)
		seen[string(text)] = true
		if inside, _ := filepath.Rel(folder, filepath.Dir(path)); inside != "." {
			fmt.Fprintf(out, "\n-- in %s\n", filepath.ToSlash(inside))
		}
		fmt.Fprintf(out, "\n%s\n", text)
		return nil
	})
	if err != nil {
		return fmt.Errorf("licence of %s: %w", title, err)
	}
	if len(seen) == 0 {
		fmt.Fprintf(out, "\nIts authors give no licence file with it.\n")
	}
	return nil
}

// notLinked is true for folders whose code no program of ours has: the go
// command leaves them out, or they make programs.
func notLinked(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "cmd"
}

// modules are those linked, as they were built: after replacement.
func modules(info *debug.BuildInfo) []*debug.Module {
	var all []*debug.Module
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		all = append(all, m)
	}
	return all
}

// escapePath is a module's path as the module cache writes it: "!a" for "A".
func escapePath(path string) string {
	var out strings.Builder
	for _, c := range path {
		if unicode.IsUpper(c) {
			out.WriteByte('!')
		}
		out.WriteRune(unicode.ToLower(c))
	}
	return out.String()
}
