package report

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"

	"engramd/cmd/engram-load/internal/bench"
)

const tableName = "figures.csv"

// everywhere are the figures that the table has of each measure, beside its own:
// perUnit is the time for one of what a rate counts.
var everywhere = []bench.Figure{{Name: perUnit, Unit: "µs"}, {Name: "cpu_us_per_op", Unit: "µs"}, {Name: "rss_kib_peak", Unit: "KiB"}}

// writeTable writes all figures of all sizes, and how the corpora were filled.
func (p *page) writeTable(path string) error {
	rows := [][]string{{"measure", "events", "server", "figure", "unit", "median", "least", "most", "rounds", "operations", "why not"}}
	for _, m := range p.results.Config.Measures {
		figures := slices.Clone(m.Figures)
		for _, f := range everywhere {
			if !slices.ContainsFunc(figures, func(own bench.Figure) bool { return own.Name == f.Name }) {
				figures = append(figures, f)
			}
		}
		for _, size := range p.measured(m.Name) {
			for _, s := range p.results.Config.Servers {
				c := p.cells[place{m.Name, s.Name, size}]
				at := []string{m.Name, strconv.Itoa(size), s.Name}
				if why := c.absence(); why != "" {
					rows = append(rows, append(at, "", "", "", "", "", "", "", why))
					continue
				}
				for _, f := range figures {
					if v, ok := c.figure(f.Name); ok {
						rows = append(rows, append(slices.Clone(at), f.Name, f.Unit, exact(v.median), exact(v.min), exact(v.max), strconv.Itoa(len(c.rounds)), strconv.Itoa(c.count), ""))
					}
				}
			}
		}
	}
	for _, f := range p.results.Fills {
		fill := func(figure, unit string, v float64) {
			rows = append(rows, []string{"fill", strconv.Itoa(f.Size), f.Server, figure, unit, exact(v), exact(v), exact(v), "1", strconv.Itoa(f.Size), ""})
		}
		fill("seconds", "s", f.Seconds)
		fill("bytes_per_event", "B", float64(f.Bytes)/float64(f.Size))
		fill("disk_to_json", "", float64(f.Bytes)/float64(max(f.Corpus, 1)))
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return csv.NewWriter(file).WriteAll(rows)
}

// exact writes six digits of a figure.
func exact(v float64) string {
	if v == 0 {
		return "0"
	}
	return strconv.FormatFloat(significant(v, 6), 'f', -1, 64)
}
