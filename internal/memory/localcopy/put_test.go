package localcopy

import (
	"context"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// TestHeadsFollowWhatRelaysHave: the head is the newest that some relay ever had and
// that can be read, whatever was said in which order.
func TestHeadsFollowWhatRelaysHave(t *testing.T) {
	a := newAuthor(t, "agent", "owner")
	v1, v2, v3 := a.write("mem/a", "one", 100), a.write("mem/a", "two", 200), a.remove("mem/a", 300)
	other := a.write("mem/b", "other", 150)
	garbled := a.garbled("mem/a", 400)
	forged := *v3
	forged.CreatedAt = 900
	for name, c := range map[string]struct {
		do   func(t *testing.T, m *Copy)
		want string
	}{
		"nothing":                {func(*testing.T, *Copy) {}, ""},
		"one":                    {func(t *testing.T, m *Copy) { put(t, m, near, v1) }, "mem/a = one"},
		"newer after older":      {func(t *testing.T, m *Copy) { put(t, m, near, v1); put(t, m, near, v2) }, "mem/a = two"},
		"older after newer":      {func(t *testing.T, m *Copy) { put(t, m, near, v2); put(t, m, near, v1) }, "mem/a = two"},
		"both at once":           {func(t *testing.T, m *Copy) { put(t, m, near, v2, v1, v2, nil) }, "mem/a = two"},
		"tombstone is a head":    {func(t *testing.T, m *Copy) { put(t, m, near, v3, v2, other) }, "mem/a †\nmem/b = other"},
		"one is behind":          {func(t *testing.T, m *Copy) { put(t, m, near, v2); put(t, m, far, v1) }, "mem/a = two"},
		"unreadable is no head":  {func(t *testing.T, m *Copy) { put(t, m, near, garbled, v2) }, "mem/a = two (1 doubtful)"},
		"only unreadable":        {func(t *testing.T, m *Copy) { put(t, m, near, garbled) }, "?"},
		"unreadable, then older": {func(t *testing.T, m *Copy) { put(t, m, near, garbled); put(t, m, far, v1) }, "mem/a = one (1 doubtful)"},
		"then nothing else":      {func(t *testing.T, m *Copy) { put(t, m, near, garbled); put(t, m, far, v1); lose(t, m, far, v1) }, "mem/a = one (1 doubtful)"},
		"forgeries are nothing":  {func(t *testing.T, m *Copy) { put(t, m, near, &forged, v1) }, "mem/a = one"},
		"lost at the only one":   {func(t *testing.T, m *Copy) { put(t, m, near, v1); lose(t, m, near, v1) }, "mem/a = one"},
		"lost at one of two": {func(t *testing.T, m *Copy) {
			put(t, m, near, v2)
			put(t, m, far, v2)
			lose(t, m, near, v2)
		}, "mem/a = two"},
		"goes back, and another has it": {func(t *testing.T, m *Copy) {
			put(t, m, near, v2)
			put(t, m, far, v2)
			put(t, m, near, v1)
			lose(t, m, near, v2)
		}, "mem/a = two"},
		"goes back, then the other loses it": {func(t *testing.T, m *Copy) {
			put(t, m, near, v2)
			put(t, m, far, v2)
			lose(t, m, near, v2)
			put(t, m, near, v1)
			lose(t, m, far, v2)
		}, "mem/a = two"},
		"goes back, said in the other order": {func(t *testing.T, m *Copy) {
			put(t, m, near, v2)
			put(t, m, near, v1)
			lose(t, m, near, v2)
		}, "mem/a = two"},
		"regained": {func(t *testing.T, m *Copy) {
			put(t, m, near, v2)
			lose(t, m, near, v2)
			put(t, m, near, v2)
		}, "mem/a = two"},
		"forgotten relay": {func(t *testing.T, m *Copy) {
			put(t, m, near, v1)
			put(t, m, far, v2, other)
			if _, err := m.Forget(context.Background(), far); err != nil {
				t.Fatal(err)
			}
		}, "mem/a = two\nmem/b = other"},
		"the same relay by another name": {func(t *testing.T, m *Copy) {
			put(t, m, "wss://NEAR.example:443/", v1)
			lose(t, m, near, v1)
		}, "mem/a = one"},
		"reserved": {func(t *testing.T, m *Copy) { put(t, m, near, a.write("mem/sys/x", "machine", 1)) }, "mem/sys/x = machine"},
		"core":     {func(t *testing.T, m *Copy) { put(t, m, near, a.write("core", "I am", 1), other) }, "core = I am\nmem/b = other"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m := open(t, a.Pair, Options{Dir: dir})
			c.do(t, m)
			if got := shown(t, m); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			if got := shown(t, open(t, a.Pair, Options{Dir: dir})); got != c.want {
				t.Errorf("opened again: %q, want %q", got, c.want)
			}
		})
	}
}

func TestPutCounts(t *testing.T) {
	a, stranger := newAuthor(t, "agent", "owner"), newAuthor(t, "stranger", "owner")
	m := open(t, a.Pair, Options{NoDisk: true})
	v1 := a.write("mem/a", "one", 100)
	forged := *v1
	forged.Sig = stranger.write("mem/a", "x", 1).Sig
	if c := put(t, m, near, v1, stranger.write("mem/a", "s", 900), &nostr.Event{Kind: 1}, nil); c != (Changes{New: 1, Rejected: 3, Heads: 1}) {
		t.Errorf("%+v", c)
	}
	if c := put(t, m, near, v1); c != (Changes{}) {
		t.Errorf("again: %+v", c)
	}
	if c := put(t, m, far, v1); c != (Changes{}) {
		t.Errorf("at another: %+v", c)
	}
	// An id that is known lets no other content in, and gives nobody a place.
	named := *a.write("mem/b", "other", 1)
	named.ID = v1.ID
	if c := put(t, m, "wss://third.example", &named); c.Rejected != 1 {
		t.Errorf("another event under a known id: %+v", c)
	}
	if items, err := m.Holds(context.Background(), "wss://third.example"); err != nil || len(items) != 0 {
		t.Errorf("%v, %v", items, err)
	}
	items, err := m.Holds(context.Background(), far)
	if err != nil || len(items) != 1 || items[0].CreatedAt != 100 || hexID(items[0].ID) != v1.ID {
		t.Errorf("%v, %v", items, err)
	}
}
