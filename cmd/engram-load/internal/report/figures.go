package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"engramd/cmd/engram-load/internal/bench"
	"engramd/cmd/engram-load/internal/load"
)

// perUnit is a figure that is made here: microseconds for one of what the rate
// counts.
const perUnit = "us_per_unit"

// Figures returns the numbers of a result under the names of its JSON, inner
// ones after a point ("latency_us.p99", "extra.kib_per_connection"), and
// us_per_unit.
func Figures(r *load.Result) (map[string]float64, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	all := make(map[string]float64)
	flatten(all, "", tree)
	if r.Rate > 0 {
		all[perUnit] = 1e6 / r.Rate
	}
	return all, nil
}

func flatten(into map[string]float64, prefix string, tree map[string]any) {
	for name, v := range tree {
		switch v := v.(type) {
		case float64:
			into[prefix+name] = v
		case map[string]any:
			flatten(into, prefix+name+".", v)
		}
	}
}

// spread is a figure over all rounds.
type spread struct {
	median, min, max float64
}

// spreadOf is of at least one value.
func spreadOf(values []float64) spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	s := spread{median: sorted[n/2], min: sorted[0], max: sorted[n-1]}
	if n%2 == 0 {
		s.median = (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return s
}

// place is where a cell stands.
type place struct {
	measure, server string
	size            int
}

// cell is what came of one workload, server and size over all rounds.
type cell struct {
	rounds   []map[string]float64
	unit     string
	count    int      // operations of one run
	failures []string // of rounds that failed
	without  string   // why it was not tried
}

// figure returns the spread of a figure. There is none if a round failed: a
// relay that answers wrongly has no speed.
func (c *cell) figure(name string) (spread, bool) {
	if c == nil || len(c.failures) > 0 || len(c.rounds) == 0 {
		return spread{}, false
	}
	var values []float64
	for _, r := range c.rounds {
		if v, ok := r[name]; ok {
			values = append(values, v)
		}
	}
	if len(values) < len(c.rounds) {
		return spread{}, false
	}
	return spreadOf(values), true
}

// failed says that there was a failure, and in how many rounds.
func (c *cell) failed() string {
	return fmt.Sprintf("failed in %d of %d", len(c.failures), len(c.failures)+len(c.rounds))
}

// absence returns why a cell has no figures, "" if it has some or was not planned.
func (c *cell) absence() string {
	switch {
	case c == nil:
		return ""
	case len(c.failures) > 0:
		first, _, _ := strings.Cut(c.failures[0], "\n")
		return c.failed() + ": " + first
	}
	return c.without
}

// cells sorts the runs by place.
func cells(r *bench.Results) (map[place]*cell, error) {
	all := make(map[place]*cell)
	for _, run := range r.Runs {
		at := place{run.Measure, run.Server, run.Size}
		c := all[at]
		if c == nil {
			c = &cell{}
			all[at] = c
		}
		switch {
		case run.Result != nil:
			figures, err := Figures(run.Result)
			if err != nil {
				return nil, fmt.Errorf("%s of %s: %w", run.Measure, run.Server, err)
			}
			c.rounds, c.unit, c.count = append(c.rounds, figures), run.Result.Unit, run.Result.Options.Count
		case run.Failure != "":
			c.failures = append(c.failures, run.Failure)
		default:
			c.without = run.Without
		}
	}
	return all, nil
}
