package query_test

import "engramd/internal/relay/store/sqlite/storetest"

var (
	alice      = storetest.NewKey("alice")
	bob        = storetest.NewKey("bob")
	carol      = storetest.NewKey("carol")
	put, prose = storetest.Put, storetest.Prose
)
