package harness

import (
	"fmt"
	"strings"
)

// Diff shows changes as unified diffs. What was spliced in or out is one run of
// lines in most files; several runs are shown as the lines between the first
// and the last difference.
func Diff(changes []Change) string {
	var b strings.Builder
	for _, c := range changes {
		from, to := c.Path, c.Path
		if !c.Exists {
			from = "/dev/null"
		}
		if c.After == nil {
			to = "/dev/null"
		}
		fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
		diffFile(&b, lines(c.Before), lines(c.After))
	}
	return b.String()
}

func lines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	all := strings.SplitAfter(string(text), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

const around = 3 // lines of context

func diffFile(b *strings.Builder, old, now []string) {
	head := 0
	for head < len(old) && head < len(now) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(now)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	start, after := max(0, head-around), min(tail, around)
	oldEnd, nowEnd := len(old)-tail, len(now)-tail
	fmt.Fprintf(b, "@@ -%s +%s @@\n", span(start, oldEnd+after), span(start, nowEnd+after))
	for _, part := range []struct {
		sign  string
		lines []string
	}{
		{" ", old[start:head]}, {"-", old[head:oldEnd]}, {"+", now[head:nowEnd]}, {" ", old[oldEnd : oldEnd+after]},
	} {
		for _, line := range part.lines {
			b.WriteString(part.sign)
			b.WriteString(strings.TrimRight(line, "\r\n"))
			b.WriteByte('\n')
			if !strings.HasSuffix(line, "\n") {
				b.WriteString("\\ No newline at end of file\n")
			}
		}
	}
}

func span(start, end int) string {
	if end == start {
		return fmt.Sprintf("%d,0", start)
	}
	return fmt.Sprintf("%d,%d", start+1, end-start)
}
