package policy

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// TestEventsByID: a ban of an event holds for whoever may write, and an allowed
// event passes the lists, but no other rule.
func TestEventsByID(t *testing.T) {
	id := func(c string, ev *nostr.Event) *nostr.Event { ev.ID = strings.Repeat(c, 64); return ev }
	p := mustPolicy(t, Options{
		Authors: []string{agentKey}, Kinds: []int{1}, BannedAuthors: []string{ownerKey}, BannedKinds: []int{7},
		BannedEvents: []string{strings.Repeat("b", 64)}, AllowedEvents: []string{strings.Repeat("a", 64)},
	})
	check(t, p, id("b", note(agentKey)), "blocked: the operator of this relay has banned this event")
	check(t, p, id("c", note(agentKey)), "")
	check(t, p, id("a", note(strangerKey)), "")
	check(t, p, id("a", note(ownerKey)), "")
	check(t, p, id("a", withKind(7, note(strangerKey))), "")
	check(t, p, id("c", note(strangerKey)), "restricted:")
	check(t, p, id("c", note(ownerKey)), "blocked:")
	check(t, p, id("a", withKind(22242, note(strangerKey))), "invalid:")
	check(t, p, id("a", note(strangerKey, nostr.Tag{"-"})), "auth-required:")
	if _, err := New(Options{BannedEvents: []string{"x"}}); err == nil || !strings.Contains(err.Error(), "banned events: entry 1") {
		t.Errorf("error %v", err)
	}
}
