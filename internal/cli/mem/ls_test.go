package mem

import (
	"fmt"
	"strings"
	"testing"

	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// TestLongListingOnATerminal: no character is torn, however long the list is.
func TestLongListingOnATerminal(t *testing.T) {
	var l memory.Listing
	for i := range 500 {
		l.Memories = append(l.Memories, client.Entry{Slug: nipae.Slug(fmt.Sprintf("mem/%d/%s", i, strings.Repeat("ü👩\u200d🚀", i%7+1)))})
	}
	var out strings.Builder
	env := cliutil.New(&cliutil.System{Stdout: &out, Stderr: &out, Terminal: cliutil.Terminal{Stdout: true}})
	if err := printListing(env, l, false); err != nil {
		t.Fatal(err)
	}
	for _, e := range l.Memories {
		if !strings.Contains(out.String(), string(e.Slug)+" ") {
			t.Errorf("%s is not listed", e.Slug)
		}
	}
}
