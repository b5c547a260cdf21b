package snapshot

import (
	"fmt"
	"strings"
)

const (
	contextLines = 3
	// maxCells bounds the table of the line comparison; beyond it what differs
	// is shown as replaced as a whole.
	maxCells = 4 << 20
)

// Unified returns the unified diff of two texts, line by line with three lines
// of context and without file names; empty if they are equal.
func Unified(a, b string) string {
	if a == b {
		return ""
	}
	edits := compareLines(splitLines(a), splitLines(b))
	var out strings.Builder
	for start := 0; start < len(edits); {
		if edits[start].op == ' ' {
			start++
			continue
		}
		from, to := hunk(edits, start)
		writeHunk(&out, edits, from, to)
		start = to
	}
	return out.String()
}

// edit is one line: ' ' in both, '-' in the first, '+' in the second only.
type edit struct {
	op   byte
	line string
}

// splitLines cuts after each line feed.
func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func compareLines(a, b []string) []edit {
	var head, tail []edit
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, edit{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, edit{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	edits := append(head, middle(a, b)...)
	for i := len(tail) - 1; i >= 0; i-- {
		edits = append(edits, tail[i])
	}
	return edits
}

// middle compares by the longest common subsequence.
func middle(a, b []string) []edit {
	var edits []edit
	width := len(b) + 1
	small := len(a)*len(b) <= maxCells
	var longest []int32 // of a[i:] and b[j:] at i*width+j
	if small {
		longest = make([]int32, (len(a)+1)*width)
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if a[i] == b[j] {
					longest[i*width+j] = longest[(i+1)*width+j+1] + 1
				} else {
					longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
				}
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case small && i < len(a) && j < len(b) && a[i] == b[j]:
			edits = append(edits, edit{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || !small || longest[(i+1)*width+j] >= longest[i*width+j+1]):
			edits = append(edits, edit{'-', a[i]})
			i++
		default:
			edits = append(edits, edit{'+', b[j]})
			j++
		}
	}
	return edits
}

// hunk returns the range of edits around the change at start whose contexts
// touch.
func hunk(edits []edit, start int) (from, to int) {
	from, to = max(0, start-contextLines), start
	for i := start; i < len(edits) && i-to <= 2*contextLines; i++ {
		if edits[i].op != ' ' {
			to = i + 1
		}
	}
	return from, min(len(edits), to+contextLines)
}

func writeHunk(out *strings.Builder, edits []edit, from, to int) {
	count := func(part []edit, op byte) int {
		n := 0
		for _, e := range part {
			if e.op == ' ' || e.op == op {
				n++
			}
		}
		return n
	}
	position := func(op byte) string {
		before, n := count(edits[:from], op), count(edits[from:to], op)
		if n == 0 {
			return fmt.Sprintf("%d,0", before)
		}
		return fmt.Sprintf("%d,%d", before+1, n)
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", position('-'), position('+'))
	for _, e := range edits[from:to] {
		out.WriteByte(e.op)
		out.WriteString(e.line)
		if !strings.HasSuffix(e.line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
