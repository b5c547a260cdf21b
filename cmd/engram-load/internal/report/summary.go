package report

import (
	"fmt"
	"strings"
)

// summary is what comes first: what this is, and the targets.
func (p *page) summary() {
	r := p.results
	p.printf("<!-- Written by `engram-load report` (make bench). -->\n")
	p.printf("# Benchmarks\n\nFigures of %s beside other relays, taken in turn on one machine. Only the ratios mean something elsewhere: the load generator shares the machine's %d cores with the relay that it measures.\n",
		r.Config.Subject, r.Machine.Cores)
	if r.Quick {
		p.printf("\n**This is the short form: few operations, one small corpus, %s. Its figures show that all works, not how fast it is.**\n", rounds(p.rounds()))
	}
	if len(r.Config.Targets) == 0 {
		return
	}
	met, known := 0, 0
	rows := make([]string, 0, len(r.Config.Targets))
	for _, t := range r.Config.Targets {
		v := p.judge(t)
		reached, made := "", v.figure
		if v.known {
			known++
			reached = v.shown()
		}
		if v.met() {
			met++
		}
		if t.Of == nil {
			made = ""
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s |", t.Measure, t.Text, reached, made, v.says()))
	}
	p.printf("\n## Targets\n\n%d of %d are met", met, len(rows))
	if known < len(rows) {
		p.printf("; %d have no figure", len(rows)-known)
	}
	p.printf(".\n\n| workload | must reach | reached | from | |\n|---|---|--:|--:|---|\n%s\n", strings.Join(rows, "\n"))
}

func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", n)
}

// rounds returns how many there were.
func (p *page) rounds() (n int) {
	for _, run := range p.results.Runs {
		n = max(n, run.Round)
	}
	return n
}

// method says how the figures came about.
func (p *page) method() {
	r := p.results
	m := r.Machine
	p.printf("\n## How it was measured\n\n")
	p.printf("| | |\n|---|---|\n| machine | %s, %d cores, %s GiB |\n| kernel | Linux %s |\n| data on | %s; a write of 4 KiB and its fdatasync take %s (median) |\n",
		m.CPU, m.Cores, number(float64(m.MemoryKiB)/(1<<20)), m.Kernel, m.FileSystem, value(m.SyncMicros, "µs"))
	p.printf("| built with | %s |\n| commit | %s |\n| when | %s to %s |\n| rounds | %d |\n| seed | %d |\n",
		m.Go, r.Commit, r.Started.Format("2006-01-02 15:04"), r.Ended.Format("15:04 MST"), p.rounds(), r.Config.Seed)
	p.printf("\n```\nmake bench                # all of it: prepares, measures, writes this page\nmake bench BENCH=quick    # a few minutes\n```\n")
	p.printf("\nEach round measures all servers, one after the other, so that a drift of the machine meets all of them; the figure is the median over the rounds. Ratios are to `%s`. ", r.Config.Base)
	p.printf("Events are signed ahead of time and kept on disk. Every answer is checked (ids, counts, order, an OK for each id): a wrong one is a failure, and a failure has no figure. ")
	p.printf("A server starts anew, with an empty folder, for each workload that writes; workloads that read share a process over a copy of a folder that was filled before. All data fit into the page cache.\n")
	p.printf("\n### Measures\n\n")
	for _, m := range r.Config.Measures {
		p.printf("- **%s** (`%s`): %s\n", m.Title, m.Name, strings.TrimSpace(m.About))
	}
	p.printf("\n### Servers\n\n")
	for _, s := range r.Config.Servers {
		version := ""
		if v := r.Versions[s.Name]; v != "" {
			version = " (" + v + ")"
		}
		p.printf("- **%s**%s: %s `%s`\n", s.Name, version, strings.TrimSpace(s.About), s.Serve)
	}
}
