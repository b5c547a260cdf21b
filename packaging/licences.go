package main

import (
	"bytes"
	"fmt"
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
// the C library: most ask that binaries carry them.
func (r *release) licences(p program) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "What is linked into %s besides its own source, and on what terms.\n", p.name)
	for _, m := range modules(p.info) {
		if err := addLicence(&out, m.Path+" "+m.Version, filepath.Join(r.modules, escapePath(m.Path)+"@"+m.Version)); err != nil {
			return nil, err
		}
	}
	if err := addLicence(&out, "Go "+p.info.GoVersion, runtime.GOROOT()); err != nil {
		return nil, err
	}
	if p.name == "engramd" {
		fmt.Fprintf(&out, "\n== %s\n\nGNU Lesser General Public License, version 2.1 or later. It is linked\nstatically; the source of engramd and its Makefile link it with another one.\n", r.libc)
	}
	return out.Bytes(), nil
}

func addLicence(out *bytes.Buffer, title, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("licence of %s: %w", title, err)
	}
	fmt.Fprintf(out, "\n== %s\n", title)
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenceName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(out, "\n%s\n", bytes.TrimSpace(text))
	}
	if !found {
		fmt.Fprintf(out, "\nIts authors give no licence file with it.\n")
	}
	return nil
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
