package harness

import (
	"fmt"
	"strings"

	"engramd/internal/snapshot"
)

// Diff shows changes as unified diffs, each line with one end.
func Diff(changes []Change) string {
	var b strings.Builder
	text := func(src []byte) string { return strings.ReplaceAll(string(src), "\r\n", "\n") }
	for _, c := range changes {
		from, to := c.Path, c.Path
		if !c.Exists {
			from = "/dev/null"
		}
		if c.After == nil {
			to = "/dev/null"
		}
		fmt.Fprintf(&b, "--- %s\n+++ %s\n%s", from, to, snapshot.Unified(text(c.Before), text(c.After)))
	}
	return b.String()
}
