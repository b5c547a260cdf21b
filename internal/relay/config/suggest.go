package config

import (
	"fmt"
	"strings"
)

// unknown names a key that is no option, and the option that was meant, if one
// is near. of is how an option is called here: its key, flag or variable.
func unknown(what, name string, opts []*Option, of func(*Option) string) error {
	var known []string
	for _, o := range opts {
		if o.Help != "" { // it was not removed
			known = append(known, of(o))
		}
	}
	if near := nearest(name, known); near != "" {
		return fmt.Errorf("unknown %s %q: did you mean %q?", what, name, near)
	}
	return fmt.Errorf("unknown %s %q", what, name)
}

// nearest returns the known name within a third of the length in edits, or
// the only one that ends in the same last part ("filters" → "limits.filters").
func nearest(name string, known []string) string {
	best, bestAt := "", len(name)/3+1
	var ending []string
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < bestAt {
			best, bestAt = k, d
		}
		if strings.HasSuffix(k, "."+name) || strings.HasSuffix(k, "."+name[strings.LastIndexByte(name, '.')+1:]) {
			ending = append(ending, k)
		}
	}
	if best == "" && len(ending) == 1 {
		return ending[0]
	}
	return best
}

// distance returns the edit distance (Levenshtein) of two ASCII names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
