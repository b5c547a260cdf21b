package snapshot

import (
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Unified returns the unified diff of two texts, line by line with three lines
// of context and without file names; empty if they are equal.
func Unified(a, b string) string {
	_, hunks, _ := strings.Cut(string(diff.Diff("a", []byte(a), "b", []byte(b))), "+++ b\n")
	return hunks
}
