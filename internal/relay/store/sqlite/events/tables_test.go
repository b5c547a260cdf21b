package events_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

var (
	alice = storetest.NewKey("alice")
	bob   = storetest.NewKey("bob")
	carol = storetest.NewKey("carol")
)

// What tests of other packages do as well.
var (
	put, restore, wantRefused = storetest.Put, storetest.Restore, storetest.WantRefused
	wantWhole, visible        = storetest.WantWhole, storetest.Visible
	outside, ofVersion        = storetest.Outside, storetest.OfVersion
	dispute, prose            = storetest.Dispute, storetest.Prose
	pages, mustSearch         = storetest.Pages, storetest.MustSearch
	entryWith                 = storetest.EntryWith
)

// rows counts the rows of a table under a condition.
func rows(t *testing.T, s *sqlite.Store, from string, args ...any) int {
	t.Helper()
	out, err := events.OnReader(context.Background(), s, fmt.Sprintf("SELECT count(*) FROM "+from, args...))
	if err != nil {
		t.Fatal(err)
	}
	return int(out[0].(int64))
}

// isHead and isHistory look an event up where it may lie.
func isHead(t *testing.T, s *sqlite.Store, ev *nostr.Event) bool {
	t.Helper()
	return rows(t, s, "events WHERE id = x'%s'", ev.ID) == 1
}

func isHistory(t *testing.T, s *sqlite.Store, ev *nostr.Event) bool {
	t.Helper()
	return rows(t, s, "history WHERE id = x'%s'", ev.ID) == 1
}
