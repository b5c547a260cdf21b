package client

import (
	"testing"

	"engramd/internal/relay/store"
)

// TestRemovedBy: what a relay takes no more, by the relay's own words, and in which order
// what several say counts.
func TestRemovedBy(t *testing.T) {
	rolledBack, expired, deleted := store.WhyRolledBack.Error(), store.WhyExpired.Error(), store.WhyDeleted.Error()
	for _, c := range []struct {
		said    []string
		by      Removal
		deleted bool
	}{
		{},
		{said: []string{"", "blocked: something else", "x " + expired}},
		{said: []string{rolledBack}, by: Removal{Relay: "0"}},
		{said: []string{deleted}, deleted: true},
		{said: []string{"", expired}, by: Removal{Relay: "1", Expired: true}},
		{said: []string{expired, rolledBack, deleted}, by: Removal{Relay: "1"}, deleted: true},
		{said: []string{rolledBack, expired}, by: Removal{Relay: "0"}},
	} {
		var published []PublishStatus
		for i, words := range c.said {
			published = append(published, PublishStatus{URL: string(rune('0' + i)), Message: words})
		}
		if by, gone := RemovedBy(published); by != c.by || gone != c.deleted {
			t.Errorf("%q: %+v %v", c.said, by, gone)
		}
		for i := range published {
			published[i].Accepted = true
		}
		if by, gone := RemovedBy(published); by != (Removal{}) || gone {
			t.Errorf("%q, and took it: %+v %v", c.said, by, gone)
		}
	}
}
