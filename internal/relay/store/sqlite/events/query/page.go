package query

import (
	"bytes"
	"cmp"

	"engramd/internal/relay/store"
)

// The bounds of a page when Ask names none.
const (
	defaultPageRows  = 500
	defaultPageBytes = 1 << 20
)

func boundsOf(a *store.Ask) bounds {
	return bounds{cmp.Or(max(a.MaxRows, 0), defaultPageRows), cmp.Or(max(a.MaxBytes, 0), defaultPageBytes)}
}

// bounds of a page.
type bounds struct{ rows, bytes int }

// found is a row that will be read later, by its seq.
type found struct {
	seq       int64
	createdAt int64
	id        [32]byte
	size      int // of its JSON
}

func compareFound(a, b found) int {
	return cmp.Or(cmp.Compare(b.createdAt, a.createdAt), bytes.Compare(a.id[:], b.id[:]))
}

// Bounds of one read of Export.
const (
	ExportRows  = 512
	ExportBytes = 4 << 20
)
