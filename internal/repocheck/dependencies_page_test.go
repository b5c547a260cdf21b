package repocheck

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const dependenciesFile = "../../docs/dependencies.md"

// module is a linked module, as a row of docs/dependencies.md describes it.
type module struct {
	version, dated string
	last           release
	in             []string // which programs, in the order of programs
	why            string   // what it is used for
}

// release is a module's last release; the zero release is unknown.
type release struct{ version, dated string }

const unknownRelease = "unknown"

func (r release) String() string {
	if r == (release{}) {
		return unknownRelease
	}
	return r.version + ", " + r.dated
}

// dependencies is the page: its rows, when the last releases were looked up,
// and the modules that it lists as not at theirs.
type dependencies struct {
	text    string
	rows    map[string]module
	asked   string
	lagging []string
	broken  []string // what cannot be parsed
}

var (
	askedLine   = regexp.MustCompile(`(?m)^The last releases are those of ([0-9]{4}-[0-9]{2}-[0-9]{2}),`)
	releaseCell = regexp.MustCompile(`^(v[^ ,]+), ([0-9]{4}-[0-9]{2}-[0-9]{2})$`)
	laggingLine = regexp.MustCompile("(?m)^- ((?:`[^`]+`(?:, )?)+): .+")
)

const laggingHeading = "## Not at the last release\n"

func readDependencies(t *testing.T) dependencies {
	t.Helper()
	text, err := os.ReadFile(dependenciesFile)
	if err != nil {
		t.Fatal(err)
	}
	return parseDependencies(string(text))
}

// parseDependencies reads the page: a row is a module in backticks, its version,
// its date, its last release, programs, and a text.
func parseDependencies(text string) dependencies {
	p := dependencies{text: text, rows: map[string]module{}}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		path, row, err := parseRow(line)
		if _, ok := p.rows[path]; err == nil && ok {
			err = fmt.Errorf("%s is listed twice", path)
		}
		if err != nil {
			p.broken = append(p.broken, err.Error())
			continue
		}
		p.rows[path] = row
	}
	if found := askedLine.FindStringSubmatch(text); found != nil {
		p.asked = found[1]
	}
	_, section, _ := strings.Cut(text, laggingHeading)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, found := range laggingLine.FindAllStringSubmatch(section, -1) {
		for _, name := range strings.Split(found[1], ", ") {
			p.lagging = append(p.lagging, strings.Trim(name, "`"))
		}
	}
	return p
}

func parseRow(line string) (path string, m module, err error) {
	cells := strings.Split(strings.Trim(line, "| \n"), " | ")
	if len(cells) != 6 {
		return "", module{}, fmt.Errorf("a row has not its six cells: %s", line)
	}
	m = module{version: cells[1], dated: cells[2], in: strings.Split(cells[4], ", "), why: cells[5]}
	if cells[3] != unknownRelease {
		found := releaseCell.FindStringSubmatch(cells[3])
		if found == nil {
			return "", module{}, fmt.Errorf("a last release is neither %s nor a version and a date: %s", unknownRelease, line)
		}
		m.last = release{found[1], found[2]}
	}
	return strings.Trim(cells[0], "`"), m, nil
}

func formatRow(path string, m module) string {
	return fmt.Sprintf("| `%s` | %s | %s | %s | %s | %s |\n", path, m.version, m.dated, m.last, strings.Join(m.in, ", "), m.why)
}

// faults returns what is wrong with the page, given what is linked.
func (p *dependencies) faults(linked map[string]module) (out []string) {
	say := func(format string, args ...any) {
		out = append(out, "docs/dependencies.md: "+fmt.Sprintf(format, args...))
	}
	for _, fault := range p.broken {
		say("%s", fault)
	}
	if p.asked == "" {
		say("it does not say of which day the last releases are")
	}
	for _, path := range slices.Sorted(maps.Keys(linked)) {
		row, ok := p.rows[path]
		want := linked[path]
		// Proxies date the same version differently, and a module cache may have no
		// date.
		if want.dated == "" || row.version == want.version && row.dated != "" {
			want.dated = row.dated
		}
		if want.last, want.why = row.last, row.why; want.why == "" {
			want.why = "what for"
		}
		if !ok || row.version != want.version || row.dated != want.dated || !slices.Equal(row.in, want.in) || row.why == "" {
			say("it needs the row\n%s(make releases looks up the last release)", formatRow(path, want))
		}
		lags := ok && row.last != (release{}) && row.last.version != want.version
		if listed := slices.Contains(p.lagging, path); lags != listed {
			say("%s is at %s, its last release is %s: it must say why under %q, and only then", path, want.version, row.last, strings.TrimSpace(laggingHeading))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(p.rows)) {
		if _, ok := linked[path]; !ok {
			say("it lists %s, which no program links", path)
		}
	}
	for _, path := range p.lagging {
		if _, ok := p.rows[path]; !ok {
			say("it says why %s is not at its last release, and has no row of it", path)
		}
	}
	return out
}
