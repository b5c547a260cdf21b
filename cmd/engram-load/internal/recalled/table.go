package recalled

import (
	"fmt"
	"io"
	"slices"
	"time"

	"engramd/cmd/engram-load/internal/measure"
)

// Print writes results as tables of Markdown: recall@5 and @10 of each set by each
// way, then all figures, then recall by kind of question.
func Print(out io.Writer, all []Result) error {
	p := printer{out: out}
	var sets, ways []string
	for _, r := range all {
		if !slices.Contains(sets, r.Set) {
			sets = append(sets, r.Set)
		}
		if !slices.Contains(ways, r.Name) {
			ways = append(ways, r.Name)
		}
	}
	p.head("| set | questions |", "|---|--:|", ways)
	for _, set := range sets {
		of := resultsOf(all, set)
		p.row(fmt.Sprintf("| %s | %d |", set, of[0].Questions), of, func(r Result) (float64, float64) { return r.At5, r.At10 })
	}
	p.line("")
	p.line("| set | way | questions | recall@1 | recall@5 | recall@10 | first | MRR | nDCG@10 | precision | of strong | texts | strong | false strong | false | silent | updated | median, ms | p95, ms |")
	p.line("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, r := range all {
		p.line("| %s | %s | %d | %s | %s | %s | %s | %.3f | %.3f | %s | %s | %s |", r.Set, r.Name, r.Questions, percent(r.At1), percent(r.At5), percent(r.At10), percent(r.First),
			r.MRR, r.NDCG, answers(r.Answers), milliseconds(r.Median), milliseconds(r.P95))
	}
	p.line("")
	p.head("| set | kind of question | questions |", "|---|---|--:|", ways)
	for _, set := range sets {
		of := resultsOf(all, set)
		for i, k := range of[0].ByKind {
			p.row(fmt.Sprintf("| %s | %s | %d |", set, k.Kind, k.Questions), of, func(r Result) (float64, float64) { return r.ByKind[i].At5, r.ByKind[i].At10 })
		}
	}
	return p.err
}

// answers are the cells of what may be silent; dashes where nothing is said.
func answers(a *measure.Answers) string {
	if a == nil {
		return "– | – | – | – | – | – | – | –"
	}
	of := func(n int, v float64) string {
		if n == 0 {
			return "–"
		}
		return percent(v)
	}
	return fmt.Sprintf("%s | %s | %.1f | %s | %s | %s | %s | %s", percent(a.Precision), percent(a.StrongPrecision), a.Texts, percent(a.Strong),
		of(a.Unanswered, a.FalseStrong), of(a.Unanswered, a.False), of(a.Unrelated, a.Silent), of(a.Outdated, a.Updated))
}

type printer struct {
	out io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.out, format+"\n", args...)
	}
}

func resultsOf(all []Result, set string) []Result {
	return slices.DeleteFunc(slices.Clone(all), func(r Result) bool { return r.Set != set })
}

// head begins a table with a column for each way.
func (p *printer) head(head, rule string, ways []string) {
	for _, way := range ways {
		head, rule = head+" "+way+" |", rule+"--:|"
	}
	p.line("%s\n%s", head, rule)
}

// row is recall@5 and @10 of each way.
func (p *printer) row(line string, of []Result, figures func(Result) (at5, at10 float64)) {
	for _, r := range of {
		at5, at10 := figures(r)
		line += fmt.Sprintf(" %s / %s |", percent(at5), percent(at10))
	}
	p.line("%s", line)
}

func percent(f float64) string { return fmt.Sprintf("%.1f", 100*f) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }
