package root

import (
	"slices"
	"strings"
	"testing"

	"engramd/internal/cli/cliutil"
)

// TestTextsWithDashes: a word that can be no flag is an argument, wherever it
// stands, and nothing else changes.
func TestTextsWithDashes(t *testing.T) {
	for _, c := range []struct{ args, want []string }{
		{[]string{"mem", "set", "notes", "- buy milk"}, []string{"mem", "set", "notes", "--", "- buy milk"}},
		{[]string{"mem", "set", "notes", "- a", "--json"}, []string{"mem", "set", "notes", "--json", "--", "- a"}},
		{[]string{"mem", "set", "notes", "-5"}, []string{"mem", "set", "notes", "--", "-5"}},
		{[]string{"mem", "set", "notes", "---"}, []string{"mem", "set", "notes", "--", "---"}},
		{[]string{"mem", "set", "notes", "-\n"}, []string{"mem", "set", "notes", "--", "-\n"}},
		{[]string{"mem", "set", "notes", "-x is it"}, []string{"mem", "set", "notes", "--", "-x is it"}},
		{[]string{"mem", "set", "notes", "-"}, nil},
		{[]string{"mem", "set", "notes", "--", "- a"}, nil},
		{[]string{"mem", "set", "notes", "--oops"}, nil},
		{[]string{"mem", "set", "notes", "-oops"}, nil},
		{[]string{"--relay", "- no", "mem", "set", "notes", "x", "-v"}, nil},
		{[]string{"mem", "set", "notes", "x", "--base", "- no"}, nil},
		{[]string{"mem", "set", "notes", "x", "--base=- no"}, nil},
		{[]string{"-v", "mem", "set", "notes", "- a"}, []string{"-v", "mem", "set", "notes", "--", "- a"}},
		{[]string{"nothing", "- a"}, []string{"nothing", "--", "- a"}},
		{nil, nil},
	} {
		want := c.want
		if want == nil {
			want = c.args
		}
		if got := withTexts(New(cliutil.New(&cliutil.System{})), slices.Clone(c.args)); !slices.Equal(got, want) {
			t.Errorf("%s: %s", strings.Join(c.args, "|"), strings.Join(got, "|"))
		}
	}
}
