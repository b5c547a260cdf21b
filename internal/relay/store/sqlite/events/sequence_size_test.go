package events_test

import (
	"strings"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// The file of a store that is one of several has no limit, whatever it is opened
// with or a command says: reaching one would end it.
func TestOneOfSeveralHasNoLimit(t *testing.T) {
	const little = 64 << 10
	for name, where := range map[string]struct{ open, command int64 }{"opened with one": {little, 0}, "by a command": {0, little}} {
		t.Run(name, func(t *testing.T) {
			o := &several{clock: storetest.NewClock().Now}
			o.open(t, storetest.Options(t, func(so *sqlite.Options) { so.MaxBytes = where.open }))
			defer o.s.Close()
			if where.command != 0 {
				if err := o.Append(t.Context(), store.Configure{Live: store.Live{MaxBytes: where.command}}, nil); err != nil {
					t.Fatal(err)
				}
			}
			text := strings.Repeat("x", 100<<10)
			for i := range int64(20) {
				if r := o.s.Put(t.Context(), alice.Note(i, text), store.PutOptions{}); r.Outcome != store.Stored {
					t.Fatalf("event %d: %v", i, r.Err)
				}
			}
			if n := o.s.MaxBytes(); n != 0 {
				t.Errorf("a limit of %d", n)
			}
		})
	}
}
