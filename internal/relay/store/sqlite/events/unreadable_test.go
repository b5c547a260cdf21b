package events_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestWhatCanStillBeRead: of a database with pages that cannot be read, an export gives
// all else and says what it lacks, and a check ends.
func TestWhatCanStillBeRead(t *testing.T) {
	const n, page = 600, 8192
	var path string
	s := storetest.MustOpen(t, func(o *sqlite.Options) { path = o.Path })
	for i := range int64(n) {
		put(t, s, alice.Fake(1, i, fmt.Sprintf("note %03d %s", i, strings.Repeat("text ", 60))), store.Stored)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, notes := range map[string][]int{"one": {300}, "neighbours": {300, 312, 325}, "apart": {50, 300, 500}, "first": {0}, "last": {n - 1}} {
		t.Run(name, func(t *testing.T) {
			broken := slices.Clone(whole)
			gone := map[int]bool{}
			for _, i := range notes {
				at := bytes.Index(whole, fmt.Appendf(nil, `"content":"note %03d `, i)) / page * page
				for j := range n { // what else is on that page
					if k := bytes.Index(whole, fmt.Appendf(nil, `"content":"note %03d `, j)); k/page*page == at {
						gone[j] = true
					}
				}
				copy(broken[at:at+page], bytes.Repeat([]byte{0xff}, page))
			}
			if err := os.WriteFile(path, broken, 0o600); err != nil {
				t.Fatal(err)
			}
			s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path, o.ReadOnly = path, true })
			got := map[int]bool{}
			err := s.Export(t.Context(), gate.Operator(), true, nil, func(json []byte) error {
				var i int
				_, after, _ := bytes.Cut(json, []byte(`"content":"note `))
				_, err := fmt.Sscanf(string(after), "%d", &i)
				got[i] = true
				return err
			})
			if !errors.Is(err, store.ErrUnreadable) || !strings.Contains(err.Error(), " to ") {
				t.Errorf("the export ends with %v", err)
			}
			for i := range n {
				if got[i] == gone[i] {
					t.Errorf("note %d: given %t, on a damaged page %t", i, got[i], gone[i])
				}
			}
			if report, err := s.Check(t.Context()); err != nil || report.OK() {
				t.Errorf("%v, %+v", err, report.Problems)
			}
		})
	}
}
