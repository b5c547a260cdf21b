package fairness

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// A key is known by being listed, or by an event that arrived a day ago.
// Answers are remembered, a failure is not.
func TestKeysAreKnownByListOrByAge(t *testing.T) {
	ctx, now := context.Background(), time.Unix(1_800_000_000, 0)
	asked := 0
	first := map[string]time.Time{"old": now.Add(-25 * time.Hour), "young": now.Add(-23 * time.Hour)}
	var failing error
	k := NewKeys(func(_ context.Context, key string, before time.Time) (bool, error) {
		asked++
		at, ok := first[key]
		return ok && at.Before(before), failing
	}, func() time.Time { return now })
	k.List([]string{"a"}, []string{"b"})

	want := func(key string, known bool, asks int) {
		t.Helper()
		was := asked
		got, err := k.Known(ctx, key)
		if got != known || err != nil || asked-was != asks {
			t.Errorf("%s: %v, %v after %d look-ups; want %v after %d", key, got, err, asked-was, known, asks)
		}
	}
	want("a", true, 0)
	want("b", true, 0)
	want("old", true, 1)
	want("old", true, 0)
	want("young", false, 1)
	want("young", false, 0)
	want("nobody", false, 1)

	now = now.Add(2 * time.Hour)
	want("young", true, 1)
	want("old", true, 1)

	failing = errors.New("disk")
	if got, err := k.Known(ctx, "other"); got || !errors.Is(err, failing) {
		t.Errorf("after a failure: %v, %v", got, err)
	}
	failing = nil
	want("other", false, 1)

	k.List()
	want("a", false, 1)
	for i := range 3 * rememberedKeys {
		k.Known(ctx, fmt.Sprint(i))
	}
	if len(k.seen) > rememberedKeys {
		t.Errorf("%d keys are remembered", len(k.seen))
	}
}
