package snapshot

import (
	"fmt"
	"slices"
	"strings"
)

const (
	contextLines = 3
	// maxEdits bounds time and memory (8 MB) of the line comparison; beyond it
	// what differs is shown as replaced as a whole.
	maxEdits = 1_000
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

// middle finds the fewest edits, as E. Myers has it in "An O(ND) Difference
// Algorithm and Its Variations" (1986), section 3: reach[k] is how far one gets
// into a on diagonal k = i-j with a number of edits that grows by one each
// round.
func middle(a, b []string) []edit {
	limit := min(len(a)+len(b), maxEdits)
	reach := make([]int32, 2*limit+3)
	var rounds [][]int32
	for d := 0; d <= limit; d++ {
		rounds = append(rounds, slices.Clone(reach[limit+1-d:limit+2+d]))
		for k := -d; k <= d; k += 2 {
			at := limit + 1 + k
			i := int(reach[at-1]) + 1
			if k == -d || k != d && reach[at-1] < reach[at+1] {
				i = int(reach[at+1])
			}
			for i < len(a) && i-k < len(b) && a[i] == b[i-k] {
				i++
			}
			reach[at] = int32(i)
			if i >= len(a) && i-k >= len(b) {
				return backtrack(a, b, rounds)
			}
		}
	}
	var edits []edit
	for _, line := range a {
		edits = append(edits, edit{'-', line})
	}
	for _, line := range b {
		edits = append(edits, edit{'+', line})
	}
	return edits
}

// backtrack follows the rounds from the end. rounds[d] is reach before round d,
// from diagonal -d to d.
func backtrack(a, b []string, rounds [][]int32) []edit {
	var edits []edit
	i, j := len(a), len(b)
	for d := len(rounds) - 1; d > 0; d-- {
		before := func(k int) int { return int(rounds[d][k+d]) }
		k := i - j
		from := k - 1
		if k == -d || k != d && before(k-1) < before(k+1) {
			from = k + 1
		}
		fromI := before(from)
		for i > fromI && j > fromI-from {
			i, j = i-1, j-1
			edits = append(edits, edit{' ', a[i]})
		}
		if from > k {
			j--
			edits = append(edits, edit{'+', b[j]})
		} else {
			i--
			edits = append(edits, edit{'-', a[i]})
		}
	}
	for ; i > 0; i-- {
		edits = append(edits, edit{' ', a[i-1]})
	}
	slices.Reverse(edits)
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
