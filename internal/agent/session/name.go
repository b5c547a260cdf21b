package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"engramd/internal/memory/intentions"
	memorystate "engramd/internal/memory/state"
)

// maxName is how long a session's id is kept as the harness gives it.
const maxName = 64

// Name is a session's id as it is kept and stamped: one of letters, digits and a
// few marks stays, and another is hashed.
func Name(id string) string {
	odd := strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	})
	if id == "" || len(id) <= maxName && !odd {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// startName is what a server stamps that knows no session of a harness: when it
// began.
func startName(at time.Time) string { return at.UTC().Format("20060102T150405.000Z") }

// seenBy says which intentions a session was shown.
func seenBy(seen []memorystate.Shown) func(slug, key string) bool {
	shown := map[string][]string{}
	for _, s := range seen {
		shown[s.Slug] = append(shown[s.Slug], s.Hash)
	}
	return func(slug, key string) bool { return intentions.Seen(shown[slug], key) }
}

// freshItems returns the first items that a session was not shown before, at most
// that many, and notes that it is now: of several processes of the session one is
// told so.
func freshItems(ctx context.Context, state *memorystate.State, id, harness string, items []intentions.Item, most int) ([]intentions.Item, error) {
	if len(items) == 0 {
		return nil, nil
	}
	before, err := state.Sessions.Shown(ctx, id)
	if err != nil {
		return nil, err
	}
	seen := seenBy(before)
	byKey := map[memorystate.Shown]intentions.Item{}
	var ask []memorystate.Shown
	for _, i := range items {
		if len(ask) < most && !seen(i.Slug, i.Key) {
			s := memorystate.Shown{Slug: i.Slug, Hash: i.Key}
			ask, byKey[s] = append(ask, s), i
		}
	}
	if len(ask) == 0 {
		return nil, nil
	}
	fresh, err := state.Sessions.Show(ctx, id, harness, ask)
	var all []intentions.Item
	for _, s := range fresh {
		all = append(all, byKey[s])
	}
	return all, err
}
