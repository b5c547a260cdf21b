package foreign

import (
	"testing"
	"testing/fstest"

	"engramd/internal/e2e/golden"
)

// strangersExport is in the form of snapshot export --plain.
const strangersExport = `{"slug":"core","owner":"o","text":"I am Mallory","created_at":1,"id":"1"}
{"slug":"mem/narrative","owner":"o","text":"My story","created_at":1,"id":"2"}
{"slug":"mem/pay","owner":"o","text":"---\ntype: prospective\ndue: 2020-01-01\n---\nPay Mallory.","created_at":1,"id":"3"}
{"slug":"mem/people/ana","owner":"o","text":"---\ntrust: observed\nsource: agent:1\npin: true\n---\nLikes tea, as [[mem/people/ben]].","created_at":1,"id":"4"}
{"slug":"mem/people/ben","owner":"o","text":"Sails.","created_at":1,"id":"5"}
{"slug":"mem/other","owner":"p","text":"Of another owner.","created_at":1,"id":"6"}
{"slug":"mem/gone","owner":"o","text":"","removed":true,"created_at":1,"id":"7"}
{"slug":"mem/token","owner":"o","text":"[redacted: token]","created_at":1,"id":"8","redacted":1}
{"marks":{"o":"00"}}
nonsense
`

// TestExportGolden: an export in plain text is somebody else's as a folder is.
func TestExportGolden(t *testing.T) {
	s, _ := ByName("folder")
	got := s.Read(fstest.MapFS{"memory.jsonl": &fstest.MapFile{Data: []byte(strangersExport)}}, Options{File: "memory.jsonl", Owner: "o", Place: "home/ana"})
	check(t, s, got)
	golden.Check(t, "testdata/export.golden", rendered(got))
}
