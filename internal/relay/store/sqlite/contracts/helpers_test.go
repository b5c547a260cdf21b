package contracts_test

import (
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/contracts"
	"engramd/internal/relay/store/sqlite/storetest"
)

var (
	alice = storetest.NewKey("alice")
	bob   = storetest.NewKey("bob")
	carol = storetest.NewKey("carol")
)

var (
	put           = storetest.Put
	restore       = storetest.Restore
	wantRefused   = storetest.WantRefused
	wantWhole     = storetest.WantWhole
	visible       = storetest.Visible
	outside       = storetest.Outside
	dispute       = storetest.Dispute
	contractEvent = storetest.ContractEvent
)

// rows counts the rows of a table under a condition.
func rows(t *testing.T, s *sqlite.Store, from string, args ...any) int {
	t.Helper()
	return storetest.Rows(t, contracts.DB(s), from, args...)
}

// isHead looks an event up where heads lie.
func isHead(t *testing.T, s *sqlite.Store, ev *nostr.Event) bool {
	t.Helper()
	return rows(t, s, "events WHERE id = x'%s'", ev.ID) == 1
}

func idsOf(events ...*nostr.Event) (ids []string) {
	for _, ev := range events {
		ids = append(ids, ev.ID)
	}
	return ids
}
