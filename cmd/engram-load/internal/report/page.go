package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"engramd/cmd/engram-load/internal/bench"
)

// page is a report that is being made.
type page struct {
	results *bench.Results
	cells   map[place]*cell
	text    strings.Builder
}

// Write makes the page at path, and figures.csv in a folder beside it that is
// named like the page without its ending. The page links to the folder's other
// pages, whose figures come from elsewhere.
func Write(r *bench.Results, path string) error {
	p := &page{results: r}
	var err error
	if p.cells, err = cells(r); err != nil {
		return err
	}
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	links, err := linksTo(folder)
	if err != nil {
		return err
	}
	p.summary()
	p.figures()
	p.printf("\n## More\n\n- [%s/%s](%[1]s/%[2]s): all figures by corpus size, with the least and the most of all rounds.\n%s", filepath.Base(folder), tableName, links)
	p.method()
	return errors.Join(os.WriteFile(path, []byte(p.text.String()), 0o644), p.writeTable(filepath.Join(folder, tableName)))
}

// linksTo returns a line for each page of a folder, with its heading.
func linksTo(folder string) (string, error) {
	names, err := fs.Glob(os.DirFS(folder), "*.md")
	var b strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return "", err
		}
		heading, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		fmt.Fprintf(&b, "- [%s](%s/%s)\n", heading, filepath.Base(folder), name)
	}
	return b.String(), err
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.text, format, args...) }

// measured returns the sizes that any server was measured with, smallest first;
// 0 alone for workloads without a corpus.
func (p *page) measured(measure string) []int {
	var sizes []int
	for at, c := range p.cells {
		if at.measure == measure && (len(c.rounds) > 0 || len(c.failures) > 0) {
			sizes = append(sizes, at.size)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// sizeOf returns the size meant by a target or by the page: the one asked for, or
// the measure's, or, in the short form, the largest there is.
func (p *page) sizeOf(measure string, asked int) int {
	if m := p.results.Config.Measure(measure); asked == 0 && m != nil {
		asked = m.Size
	}
	sizes := p.measured(measure)
	if !p.results.Quick || len(sizes) == 0 || slices.Contains(sizes, asked) {
		return asked
	}
	return sizes[len(sizes)-1]
}

// figures is one row for each figure of each measure, and what has none.
func (p *page) figures() {
	head, rule := "| measure | events stored |", "|---|--:|"
	for _, s := range p.results.Config.Servers {
		head, rule = head+" "+s.Name+" |", rule+"--:|"
	}
	p.printf("\n## Figures\n\nMedians of all rounds.\n\n%s\n%s\n", head, rule)
	for _, m := range p.results.Config.Measures {
		if len(p.measured(m.Name)) == 0 {
			continue
		}
		size, stored := p.sizeOf(m.Name, 0), ""
		if size > 0 {
			stored = power(size)
		}
		for _, f := range m.Figures {
			unit := ""
			if f.Unit != "" {
				unit = ", " + f.Unit
			}
			p.printf("| %s: %s%s | %s |", m.Title, f.Label, unit, stored)
			for _, s := range p.results.Config.Servers {
				if figure, ok := p.cells[place{m.Name, s.Name, size}].figure(f.Name); ok {
					p.printf(" %s |", number(figure.median))
				} else {
					p.printf(" – |")
				}
			}
			p.printf("\n")
		}
	}
	var lines []string
	for _, m := range p.results.Config.Measures {
		for _, s := range p.results.Config.Servers {
			if why := p.cells[place{m.Name, s.Name, p.sizeOf(m.Name, 0)}].absence(); why != "" {
				lines = append(lines, fmt.Sprintf("- %s of %s: %s\n", m.Name, s.Name, why))
			}
		}
	}
	if len(lines) > 0 {
		p.printf("\n%s", strings.Join(lines, ""))
	}
}
