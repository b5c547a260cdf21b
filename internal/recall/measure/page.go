package measure

import (
	"fmt"
	"io"
	"time"
)

// Print writes figures as a table of Markdown, then recall@10 of the first by
// kind of question.
func Print(out io.Writer, all []Figures) error {
	_, err := fmt.Fprint(out, "| ranked by | recall@5 | recall@10 | recall@20 | first | MRR | nDCG@10 | median, ms | p95, ms |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, f := range all {
		if err == nil {
			_, err = fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %.3f | %.3f | %s | %s |\n", f.Name,
				percent(f.At5), percent(f.At10), percent(f.At20), percent(f.First), f.MRR, f.NDCG, milliseconds(f.Median), milliseconds(f.P95))
		}
	}
	if err != nil || len(all) == 0 {
		return err
	}
	if _, err = fmt.Fprintf(out, "\n| kind of question | questions | recall@10, %s |\n|---|--:|--:|\n", all[0].Name); err != nil {
		return err
	}
	for _, k := range all[0].ByKind {
		if _, err = fmt.Fprintf(out, "| %s | %d | %s |\n", k.Kind, k.Questions, percent(k.At10)); err != nil {
			return err
		}
	}
	return nil
}

func percent(f float64) string { return fmt.Sprintf("%.1f", 100*f) }

func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000) }
