package doctor

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// WriteText writes the findings, and then what is to be done.
func (f *Findings) WriteText(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tSTATE\tEXECUTED\tCLOCK\tDISK FREE\tPROGRAM")
	for _, n := range f.Nodes {
		state := "answers"
		if n.Leads {
			state = "leads"
		}
		fmt.Fprintf(w, "%s\t%s\t%d of %d\t%s\t%d MiB\t%s\n", n.Name, state, n.Applied, max(f.Survey.Last, n.Applied), off(n.ahead), n.Free>>20, n.Program)
	}
	fmt.Fprintln(w, "\nSERVER\tSTATE\tCLOCK\tSTORED\tVERSION")
	for _, s := range f.Survey.Servers {
		state := "in reserve"
		switch {
		case s.Fault != nil && !s.Known:
			state = "DOWN"
		case s.Leads:
			state = "leads"
		case s.Keeps:
			state = "keeps the log"
		}
		if !s.Known {
			fmt.Fprintf(w, "%s\t%s\n", s.Name, state)
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d of %d MiB\t%s\n", s.Name, state, off(s.Ahead), s.Stored>>20, s.Room>>20, s.Version)
	}
	do := f.Advice()
	if len(do) == 0 {
		fmt.Fprintln(w, "\nAll is well.")
	} else {
		fmt.Fprintln(w, "\nTO DO")
	}
	for i, one := range do {
		fmt.Fprintf(w, "%d. %s\n", i+1, one)
	}
	return w.Flush()
}

// off is how a clock stands to this machine's.
func off(d time.Duration) string { return fmt.Sprintf("%+.1f s", d.Seconds()) }
