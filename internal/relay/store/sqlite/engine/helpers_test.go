package engine_test

import "engramd/internal/relay/store/sqlite/storetest"

// Tests of this package that need a database with something in it open a whole
// store.
var (
	alice = storetest.NewKey("alice")
	bob   = storetest.NewKey("bob")
)

var (
	put       = storetest.Put
	wantWhole = storetest.WantWhole
)
