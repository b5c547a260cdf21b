package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// Result is what one run measured. Its JSON names are stable.
type Result struct {
	Workload string   `json:"workload"`
	Server   string   `json:"server"`
	Unit     string   `json:"unit"`    // of Rate
	Seconds  float64  `json:"seconds"` // of the measured part, without warm-up
	Count    int      `json:"count"`   // what was counted in them
	Rate     float64  `json:"rate"`    // Count / Seconds
	Latency  *Latency `json:"latency_us,omitempty"`
	// ClientCPU is what the measuring process took in the measured part, user and
	// system, in seconds.
	ClientCPU float64 `json:"client_cpu_s"`
	*Usage            // of the server; nil without its pid
	// Extra are the workload's own figures, named with their unit.
	Extra   map[string]float64 `json:"extra,omitempty"`
	Options Options            `json:"options"` // as run
}

// WriteTable prints the result for people.
func (r Result) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
	row("workload", "%s", r.Workload)
	if r.Server != "" { // a program that fills a folder has none
		row("server", "%s", r.Server)
	}
	row("rate", "%.0f %s", r.Rate, r.Unit)
	row("counted", "%d in %.3f s", r.Count, r.Seconds)
	if l := r.Latency; l != nil {
		row("latency", "p50 %.0f µs, p90 %.0f, p99 %.0f, p99.9 %.0f, max %.0f (%d samples)", l.P50, l.P90, l.P99, l.P999, l.Max, l.Samples)
	}
	if u := r.Usage; u != nil {
		row("server CPU", "%.2f s user, %.2f s system, %.1f µs for one", u.CPUUser, u.CPUSystem, u.CPUPerOp)
		if u.RSSBefore > 0 {
			row("server RSS", "%d KiB before, %d after, %d peak", u.RSSBefore, u.RSSAfter, u.RSSPeak)
		} else { // a process that the run started, and that has ended
			row("server RSS", "%d KiB peak", u.RSSPeak)
		}
	}
	row("client CPU", "%.2f s", r.ClientCPU)
	for _, name := range slices.Sorted(maps.Keys(r.Extra)) {
		row(name, "%.6g", r.Extra[name])
	}
	o := r.Options
	row("options", "count %d, connections %d, pipeline %d, warm-up %d, size %d, seed %d", o.Count, o.Connections, o.Pipeline, o.Warmup, o.Size, o.Seed)
	return t.Flush()
}
