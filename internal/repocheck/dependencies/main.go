// Command dependencies brings the tables of docs/dependencies.md up to date: the
// modules that are linked into a program, their versions, and their last releases,
// which it asks the module proxy for. What a row says of a module's use stays.
//
//	make releases
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const page = "docs/dependencies.md"

// programs are those that are built and released, and the folder of each one's module.
var programs = []struct{ name, folder string }{{"engramd", "."}, {"engramctl", "."}, {"engram-load", "cmd/engram-load"}}

// module is a linked module, or a release of one.
type module struct {
	Path, Version string
	Time          time.Time
	in            []string // names of programs
}

func main() {
	if err := refresh("."); err != nil {
		fmt.Fprintln(os.Stderr, "dependencies:", err)
		os.Exit(1)
	}
}

// refresh rewrites the page below a folder.
func refresh(root string) error {
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return err
	}
	all, err := linked(root)
	if err != nil {
		return err
	}
	last, err := latest(root, slices.Sorted(maps.Keys(all)))
	if err != nil {
		return err
	}
	var out, added strings.Builder
	for line := range strings.Lines(string(text)) {
		path, row := parse(line)
		m, ok := all[path]
		switch {
		case path != "" && !ok:
			fmt.Fprintln(os.Stderr, "no longer linked:", path)
			continue
		case ok:
			if m.Time.IsZero() { // a module cache may have no date
				m.Time, _ = time.Parse(time.DateOnly, row[2])
			}
			line = format(m, last[path], row[5])
			delete(all, path)
		}
		out.WriteString(line)
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		added.WriteString(format(all[path], last[path], "what for"))
	}
	day := regexp.MustCompile(`(?m)^The last releases are those of [0-9-]+,`)
	written := day.ReplaceAllString(out.String(), "The last releases are those of "+time.Now().UTC().Format(time.DateOnly)+",")
	if added.Len() > 0 {
		fmt.Fprintf(os.Stderr, "put these into a table of %s:\n%s", page, &added)
	}
	return os.WriteFile(filepath.Join(root, page), []byte(written), 0o644)
}

// parse returns the module of a row and the row's cells, "" for another line.
func parse(line string) (path string, cells []string) {
	cells = strings.Split(strings.Trim(line, "| \n"), " | ")
	if !strings.HasPrefix(line, "| `") || len(cells) != 6 {
		return "", nil
	}
	return strings.Trim(cells[0], "`"), cells
}

// format returns a module's row.
func format(m, last module, use string) string {
	dated := func(t time.Time) string { return t.UTC().Format(time.DateOnly) }
	newest := "unknown" // a proxy may know none, or older ones only
	if last.Version == m.Version || last.Time.After(m.Time) {
		newest = last.Version + ", " + dated(last.Time)
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |\n", m.Path, m.Version, dated(m.Time), newest, strings.Join(m.in, ", "), use)
}

// linked returns the modules of the programs by path.
func linked(root string) (map[string]module, error) {
	all := map[string]module{}
	for _, p := range programs {
		type pkg struct{ Module *module }
		deps, err := list[pkg](filepath.Join(root, p.folder), "-tags", "sqlite_fts5 libsecp256k1", "-deps", "-json=Module", "engramd/cmd/"+p.name)
		if err != nil {
			return nil, err
		}
		for _, dep := range deps {
			if dep.Module == nil || dep.Module.Path == "engramd" || dep.Module.Version == "" {
				continue
			}
			m, ok := all[dep.Module.Path]
			if ok && m.Version != dep.Module.Version {
				return nil, fmt.Errorf("%s is %s, and in %s %s: run go mod tidy in %s", m.Path, m.Version, p.name, dep.Module.Version, p.folder)
			}
			if !ok {
				m = *dep.Module
			}
			if !slices.Contains(m.in, p.name) {
				m.in = append(m.in, p.name)
			}
			all[m.Path] = m
		}
	}
	return all, nil
}

// latest asks for the last releases of modules.
func latest(root string, paths []string) (map[string]module, error) {
	args := []string{"-m", "-e", "-mod=mod", "-json"}
	for _, path := range paths {
		args = append(args, path+"@latest")
	}
	found, err := list[module](root, args...)
	all := map[string]module{}
	for _, m := range found {
		all[m.Path] = m
	}
	return all, err
}

// list runs go list in a folder and returns what it prints as JSON.
func list[T any](dir string, args ...string) (all []T, err error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var one T
		if err := dec.Decode(&one); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}
