package gate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"engramd/internal/e2e/golden"
)

// TestGoldenDocTable: the table in the package comment is generated from kinds.go.
func TestGoldenDocTable(t *testing.T) {
	golden.Part(t, "doc.go", "but not weaken them:\n//\n", "//\n// An arbitrator is", docTable(t))
}

// docTable returns one line for each class and what its events have in common.
func docTable(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	row := func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }
	row("class", "readers", "or a filter that names", "kind")
	for c := Open + 1; int(c) < len(rules); c++ {
		var plain []string
		var single []string
		table := tableOf(t, kinds).kinds
		for _, number := range slices.Sorted(maps.Keys(table)) {
			e := table[number]
			if e.Class == c {
				plain = append(plain, strconv.Itoa(number))
			}
			for _, x := range e.Except {
				if x.Class == c {
					single = append(single, fmt.Sprintf("%d %s", number, traitTexts[x.Trait]))
				}
			}
		}
		who := wordsOf(rules[c].ways, way{byAuthor, "author"}, way{byTag, "p"}, way{byCase, "arbitrator"})
		named := wordsOf(rules[c].ways, way{byID, "its id"}, way{byD, "its d"})
		row(c.String(), who, named, strings.Join(append(plain, single...), ", "))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	for line := range strings.Lines(out.String()) {
		lines.WriteString("//\t" + strings.TrimRight(line, " \n") + "\n")
	}
	return lines.String()
}

type way struct {
	bit  rights
	word string
}

func wordsOf(ways rights, words ...way) string {
	var out []string
	for _, w := range words {
		if ways&w.bit != 0 {
			out = append(out, w.word)
		}
	}
	return strings.Join(out, ", ")
}
