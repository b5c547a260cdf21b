package events_test

import (
	"os"
	"testing"

	"engramd/internal/relay/store/sqlite"
)

// marked has a store keep a mark file.
func marked(o *sqlite.Options) { o.Mark = o.Path + ".mark" }

// earlierMark puts the mark of the start before in the place of the last one, as
// a kill does, and returns that: how far a store is never falls.
func earlierMark(t *testing.T, o sqlite.Options, before []byte) (last []byte) {
	t.Helper()
	last = readFile(t, o.Mark)
	if err := os.WriteFile(o.Mark, before, 0o600); err != nil {
		t.Fatal(err)
	}
	return last
}
