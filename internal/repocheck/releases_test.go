package repocheck

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// update is how make releases works; it needs a network.
var update = flag.Bool("update", false, "ask the module proxy for the last release of every linked module, and write docs/dependencies.md anew")

// refresh rewrites the page; what the rows say of a module's use stays.
func (p *dependencies) refresh(t *testing.T, linked map[string]module) {
	t.Helper()
	text := p.refreshed(linked, lastRelease, time.Now().UTC().Format(time.DateOnly))
	if err := os.WriteFile(dependenciesFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	*p = parseDependencies(text)
}

// lastRelease looks up a module's last release; it returns the zero release if
// the proxy has none.
func lastRelease(path string) release {
	cmd := exec.Command("go", "list", "-m", "-json", path+"@latest")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var told struct {
		Version string
		Time    time.Time
	}
	if err != nil || json.Unmarshal(out, &told) != nil || told.Version == "" || told.Time.IsZero() {
		return release{}
	}
	return release{told.Version, told.Time.UTC().Format(time.DateOnly)}
}

// refreshed returns the page with the linked versions and their last releases.
// A release older than the linked version is ignored: a proxy may not have all
// versions of a module.
func (p *dependencies) refreshed(linked map[string]module, last func(path string) release, today string) string {
	var out strings.Builder
	for line := range strings.Lines(p.text) {
		path, row, err := "", module{}, error(nil)
		if strings.HasPrefix(line, "| `") {
			path, row, err = parseRow(line)
		}
		if m, ok := linked[path]; ok && err == nil {
			row.version, row.in = m.version, slices.Clone(m.in)
			if m.dated != "" {
				row.dated = m.dated
			}
			if row.last = last(path); row.last.dated < row.dated && row.last.version != row.version {
				row.last = release{}
			}
			line = formatRow(path, row)
		}
		out.WriteString(line)
	}
	return askedLine.ReplaceAllString(out.String(), "The last releases are those of "+today+",")
}

const examplePage = `# What is linked

The last releases are those of 2026-01-02, as the proxy told.

| module | version | dated | last release | in | used for |
|---|---|---|---|---|---|
| ` + "`a.example/a`" + ` | v1.0.0 | 2025-01-01 | v1.1.0, 2025-06-01 | engramd | all |
| ` + "`a.example/b`" + ` | v1.0.0 | 2025-01-01 | v1.0.0, 2025-01-01 | engramd, engramctl | some |
| ` + "`a.example/c`" + ` | v2.0.0 | 2025-01-01 | unknown | engramctl | little |

` + laggingHeading + `
- ` + "`a.example/a`" + `: it breaks.
`

func exampleModules() map[string]module {
	return map[string]module{
		"a.example/a": {version: "v1.0.0", dated: "2025-01-01", in: []string{"engramd"}},
		"a.example/b": {version: "v1.0.0", in: []string{"engramd", "engramctl"}},
		"a.example/c": {version: "v2.0.0", dated: "2025-01-01", in: []string{"engramctl"}},
	}
}

// TestDependenciesFaults: every difference between the page and what is linked
// is a fault.
func TestDependenciesFaults(t *testing.T) {
	const b = "| `a.example/b` | v1.0.0 | 2025-01-01 | v1.0.0, 2025-01-01 | engramd, engramctl | some |\n"
	for name, c := range map[string]struct {
		old, new string // of the page
		change   func(map[string]module)
		want     string // "" for none
	}{
		"all is said":         {},
		"a module is missing": {old: b, want: "needs the row"},
		"one more":            {old: b, new: b + strings.ReplaceAll(b, "/b", "/d"), want: "lists a.example/d"},
		"twice":               {old: b, new: b + b, want: "listed twice"},
		"another version": {change: func(m map[string]module) {
			m["a.example/c"] = module{"v2.0.1", "2025-01-01", release{}, []string{"engramctl"}, ""}
		}, want: "v2.0.1"},
		"another date, as mirrors have": {old: b, new: strings.Replace(b, "01-01", "01-02", 1), change: func(m map[string]module) {
			m["a.example/b"] = module{"v1.0.0", "2025-01-01", release{}, m["a.example/b"].in, ""}
		}},
		"another program":      {change: func(m map[string]module) { m["a.example/c"] = module{version: "v2.0.0", in: []string{"engramd"}} }, want: "needs the row"},
		"no last release":      {old: "v1.0.0, 2025-01-01 |", new: "|", want: "six cells"},
		"a strange one":        {old: "v1.0.0, 2025-01-01 |", new: "the same |", want: "neither unknown nor"},
		"no reason to lag":     {old: "- `a.example/a`: it breaks.", want: "must say why"},
		"a reason without lag": {old: "- `a.example/a`: it", new: "- `a.example/a`, `a.example/b`: they", want: "must say why"},
		"a reason for nothing": {old: "- `a.example/a`: it", new: "- `a.example/a`, `a.example/x`: they", want: "has no row"},
		"no day":               {old: "The last releases are those of 2026-01-02,", new: "Of some day,", want: "of which day"},
	} {
		linked := exampleModules()
		if c.change != nil {
			c.change(linked)
		}
		if !strings.Contains(examplePage, c.old) {
			t.Fatalf("%s: the page has no %q", name, c.old)
		}
		p := parseDependencies(strings.Replace(examplePage, c.old, c.new, 1))
		faults := strings.Join(p.faults(linked), "\n")
		if (faults == "") != (c.want == "") || !strings.Contains(faults, c.want) {
			t.Errorf("%s: want %q, have: %s", name, c.want, faults)
		}
	}
}

// TestDependenciesRefreshed: versions and last releases are those looked up, a
// release that was not found is unknown, and nothing else changes.
func TestDependenciesRefreshed(t *testing.T) {
	linked := exampleModules()
	linked["a.example/a"] = module{version: "v1.1.0", dated: "2025-06-01", in: []string{"engramd"}}
	told := map[string]release{
		"a.example/a": {"v1.1.0", "2025-06-01"},
		"a.example/b": {"v0.9.0", "2024-01-01"}, // older than what is linked
	}
	p := parseDependencies(examplePage)
	got := p.refreshed(linked, func(path string) release { return told[path] }, "2026-05-06")
	want := strings.NewReplacer("2026-01-02", "2026-05-06", "| v1.0.0 | 2025-01-01 | v1.1.0,", "| v1.1.0 | 2025-06-01 | v1.1.0,",
		"v1.0.0, 2025-01-01", "unknown").Replace(examplePage)
	if got != want {
		t.Errorf("have\n%s\nwant\n%s", got, want)
	}
}
