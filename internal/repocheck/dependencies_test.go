package repocheck

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The folders of the modules: the product, and engram-load, whose tests and
// dependencies are not the product's.
const (
	product = "."
	load    = "cmd/engram-load"
)

// programs are those that are built and released, everything in cmd, and the
// module of each.
var programs = []struct{ name, module string }{{"engramd", product}, {"engramctl", product}, {"engram-load", load}}

// TestDependenciesAreListed: docs/dependencies.md lists exactly the modules
// that are linked into a program, with version, date, last release, programs
// and use; and says why where a module is not at its last release.
func TestDependenciesAreListed(t *testing.T) {
	folders, err := filepath.Glob("../../cmd/*")
	if err != nil || len(folders) != len(programs) {
		t.Fatalf("cmd holds %v, not just %v; %v", folders, programs, err)
	}
	p, linked := readDependencies(t), linkedModules(t)
	if len(linked) < 20 {
		t.Fatalf("only %d modules are linked: this test looks at the wrong thing", len(linked))
	}
	if *update {
		p.refresh(t, linked)
	}
	for _, fault := range p.faults(linked) {
		t.Error(fault)
	}
}

// linkedModules returns the modules of each program, with the build tags of the
// Makefile.
func linkedModules(t *testing.T) map[string]module {
	t.Helper()
	const format = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{with .Time}}{{.Format \"2006-01-02\"}}{{end}}{{end}}{{end}}"
	all := map[string]module{}
	for _, program := range programs {
		for line := range strings.Lines(goList(t, program.module, "-deps", "-f", format, "engramd/cmd/"+program.name)) {
			fields := append(strings.Fields(line), "", "")
			if fields[0] == "" || fields[0] == "engramd" { // by engram-load
				continue
			}
			m := all[fields[0]]
			if m.version != "" && m.version != fields[1] {
				t.Errorf("%s is linked as %s and, into %s, as %s: run go mod tidy in %s", fields[0], m.version, program.name, fields[1], program.module)
			}
			m.version, m.dated = fields[1], fields[2]
			if !slices.Contains(m.in, program.name) {
				m.in = append(m.in, program.name)
			}
			all[fields[0]] = m
		}
	}
	return all
}

// goList runs go list in the folder of a module.
func goList(t *testing.T, module string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-tags", "sqlite_fts5 libsecp256k1"}, args...)...)
	cmd.Dir = filepath.Join("../..", module)
	var says strings.Builder
	cmd.Stderr = &says
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v: %s", module, err, says.String())
	}
	return string(out)
}

// TestLibrariesInCAreListed: the page has the versions of the C libraries that
// modules bring along.
func TestLibrariesInCAreListed(t *testing.T) {
	page, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(goList(t, product, "-m", "-f", "{{.Dir}}", "github.com/mattn/go-sqlite3"))
	header, err := os.Open(filepath.Join(dir, "sqlite3-binding.h"))
	if err != nil {
		t.Fatal(err)
	}
	defer header.Close()
	define := regexp.MustCompile(`^#define SQLITE_VERSION\s+"([0-9.]+)"`)
	sqlite := ""
	for lines := bufio.NewScanner(header); sqlite == "" && lines.Scan(); {
		if found := define.FindStringSubmatch(lines.Text()); found != nil {
			sqlite = found[1]
		}
	}
	nostr := strings.TrimSpace(goList(t, product, "-m", "-f", "{{.Version}}", "github.com/nbd-wtf/go-nostr"))
	for _, row := range []string{"| SQLite | " + sqlite + " |", "| libsecp256k1 | as go-nostr " + nostr + " has it |"} {
		if sqlite == "" || !strings.Contains(string(page), row) {
			t.Errorf("docs/dependencies.md lacks %q", row)
		}
	}
}
