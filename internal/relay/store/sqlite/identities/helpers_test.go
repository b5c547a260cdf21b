package identities_test

import (
	"testing"

	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/identities"
	"engramd/internal/relay/store/sqlite/storetest"
)

var (
	alice = storetest.NewKey("alice")
	bob   = storetest.NewKey("bob")
	carol = storetest.NewKey("carol")
)

var (
	put           = storetest.Put
	wantWhole     = storetest.WantWhole
	outside       = storetest.Outside
	contractEvent = storetest.ContractEvent
)

// rows counts the rows of a table under a condition.
func rows(t *testing.T, s *sqlite.Store, from string, args ...any) int {
	t.Helper()
	return storetest.Rows(t, identities.DB(s), from, args...)
}
