package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"engramd/cmd/engram-load/internal/bench"
	"engramd/cmd/engram-load/siege/section"
)

// page is a report that is being made.
type page struct {
	results *bench.Results
	cells   map[place]*cell
	notes   map[string]string // by measure; "" for all
	folder  string            // of the plots, as the page links to it
	plots   map[string]string // by name of file
	text    strings.Builder
}

// Write makes the page at path, and its plots in a folder beside it that is
// named like the page without its ending. What NOTES.md in that folder says is
// put in: what comes before its first heading into the summary, what stands
// under "## NAME" under the measure of that name; so is what a siege has shown
// (section.Put). Old plots there are removed.
func Write(r *bench.Results, path string) error {
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	notes, err := readNotes(filepath.Join(folder, notesName))
	if err != nil {
		return err
	}
	text, plots, err := render(r, notes, filepath.Base(folder))
	if err != nil {
		return err
	}
	if text, err = section.Keep(text, folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(folder, "*.svg"))
	if err != nil {
		return err
	}
	for _, name := range old {
		if _, again := plots[filepath.Base(name)]; !again {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	for name, plot := range plots {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(plot), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// render makes the text and the plots.
func render(r *bench.Results, notes map[string]string, folder string) (text string, plots map[string]string, err error) {
	p := &page{results: r, notes: notes, folder: folder, plots: make(map[string]string)}
	if p.cells, err = cells(r); err != nil {
		return "", nil, err
	}
	for name := range notes {
		if name != "" && r.Config.Measure(name) == nil {
			return "", nil, fmt.Errorf("%s: no measure is called %q", notesName, name)
		}
	}
	p.summary()
	for i := range r.Config.Measures {
		p.section(&r.Config.Measures[i])
	}
	p.method()
	return p.text.String(), p.plots, nil
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

// sizeOf returns the size meant by a target or by the bars: the one asked for,
// or the measure's, or, in the short form, the largest there is.
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

const notesName = "NOTES.md"

// readNotes splits the notes at their headings. Without a file there are none.
func readNotes(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return map[string]string{}, nil
	}
	if err != nil {
		return nil, err
	}
	return splitNotes(string(text)), nil
}

func splitNotes(text string) map[string]string {
	notes, name := make(map[string]string), ""
	for line := range strings.Lines(text) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			name = strings.TrimSpace(heading)
			continue
		}
		notes[name] += line
	}
	for name := range notes {
		notes[name] = strings.TrimSpace(notes[name])
	}
	return notes
}
