package gate

import (
	command "flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
)

var update = command.Bool("update", false, "write the table of kinds into doc.go")

// TestDocTable: the table in the package comment is generated from kinds.go.
func TestDocTable(t *testing.T) {
	const first, end = "//\tclass", "//\n// An arbitrator is"
	page, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), first)
	_, after, ends := strings.Cut(rest, end)
	if !ok || !ends {
		t.Fatal("doc.go has no table")
	}
	want := before + docTable(t) + end + after
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("doc.go is not what the table of kinds says: run go test ./internal/relay/gate -run DocTable -update. It should have\n%s", docTable(t))
	}
	if err := os.WriteFile("doc.go", []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
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
