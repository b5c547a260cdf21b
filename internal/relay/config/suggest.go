package config

import (
	"fmt"
	"strings"
)

// replaced are keys of earlier versions, by those that stand in their place.
// Their values counted something else, so that none of them is taken over.
var replaced = []struct{ key, now, why string }{
	{"limits.live_values", "limits.live_bytes", "live filters are bounded in bytes of memory, no longer in values"},
	{"limits.live_total", "limits.live_bytes_total", "live filters are bounded in bytes of memory, no longer in values"},
}

// successor returns the error for a key that was replaced; of is how an option
// is called here (its key, flag or variable). nil is for any other name.
func successor(what, name string, of func(*Option) string) error {
	for _, r := range replaced {
		if of(keyed(r.key)) == name {
			return fmt.Errorf("%s %q is of an earlier version: %s; it was replaced by %q, so take it out or set that", what, name, r.why, of(keyed(r.now)))
		}
	}
	return nil
}

// unknown names a key that is no option, and the option that took its place, or
// was meant, if one is near.
func unknown(what, name string, opts []*Option, of func(*Option) string) error {
	if err := successor(what, name, of); err != nil {
		return err
	}
	known := make([]string, len(opts))
	for i, o := range opts {
		known[i] = of(o)
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

// keyed is an option of which nothing but its names is wanted.
func keyed(key string) *Option { return &Option{declared: declared{Key: key}} }
