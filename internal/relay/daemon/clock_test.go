package daemon

import (
	"slices"
	"strings"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

// By a clock that is not confirmed no signature of a call is forgotten: it could be
// used again by the right one.
func TestCallsAreKeptWhileTheClockIsNotConfirmed(t *testing.T) {
	believed := false
	c := calls{storetest.MustOpen(t), func() bool { return believed }}
	call := func(digit string, at int64) store.UsedCall {
		return store.UsedCall{ID: strings.Repeat(digit, 64), Key: strings.Repeat("a", 64), At: at}
	}
	for _, step := range []struct {
		believed bool
		call     store.UsedCall
		had      bool
	}{{true, call("1", 100), false}, {false, call("2", 9000), false}, {false, call("1", 9000), true}, {true, call("2", 9000), true}, {true, call("1", 9000), false}} {
		believed = step.believed
		had, err := c.UseCalls(t.Context(), []store.UsedCall{step.call}, step.call.At-1000)
		if err != nil || !slices.Equal(had, []bool{step.had}) {
			t.Errorf("%+v: %v, %v", step, had, err)
		}
	}
}
