package memory

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/relay/http/bridgetest"
)

func TestApprovals(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL, bridgetest.Start(t).URL}
	one, two := who(t, "agent").PubKey(), who(t, "second").PubKey()
	stopped := time.Now()
	a := ApprovalsOf(clientFor(t, who(t, "owner"), relays, func(o *client.Options) { o.Clock = func() time.Time { return stopped } }))
	list := func() []string {
		t.Helper()
		got, status, err := ApprovalsOf(clientFor(t, who(t, "owner"), relays, nil)).List(t.Context())
		if err != nil || status.Partial {
			t.Fatalf("%v, %+v", err, status)
		}
		return got
	}
	if got := list(); len(got) != 0 {
		t.Errorf("before: %v", got)
	}
	if _, err := a.Revoke(t.Context(), one); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("revoke what is not there: %v", err)
	}
	for _, agent := range []string{one, two, one} { // all in one second
		if status, err := a.Allow(t.Context(), agent); err != nil || status.Partial || client.Accepted(status.Published) != 2 {
			t.Fatalf("allow: %v, %+v", err, status)
		}
	}
	if got := list(); !slices.Equal(got, []string{one, two}) {
		t.Errorf("two allowed: %v", got)
	}
	if _, err := a.Revoke(t.Context(), one); err != nil {
		t.Fatal(err)
	}
	if got := list(); !slices.Equal(got, []string{two}) {
		t.Errorf("one revoked: %v", got)
	}
	if _, err := a.Allow(t.Context(), "npub1x"); err == nil {
		t.Error("a key that is none is allowed")
	}
}

// What is revoked while a relay is down is still approved there; revoking again
// reaches it.
func TestRevokingAgain(t *testing.T) {
	one, late := bridgetest.Start(t), bridgetest.Start(t)
	owner, agent := who(t, "owner"), who(t, "agent").PubKey()
	both := ApprovalsOf(clientFor(t, owner, []string{one.URL, late.URL}, nil))
	if _, err := both.Allow(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	if _, err := ApprovalsOf(clientFor(t, owner, []string{one.URL}, nil)).Revoke(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	if status, err := both.Revoke(t.Context(), agent); err != nil || client.Accepted(status.Published) != 2 {
		t.Errorf("again: %v, %+v", err, status)
	}
	if left, _, err := ApprovalsOf(clientFor(t, owner, []string{late.URL}, nil)).List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("still approved at one relay: %v, %v", left, err)
	}
	if _, err := both.Revoke(t.Context(), agent); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("once no relay has it: %v", err)
	}
}

// A list that may lie on a relay that is down is not begun anew; tags and
// content that are not ours stay.
func TestApprovalsAreNotLost(t *testing.T) {
	agent := who(t, "agent").PubKey()
	h := &clienttest.Hoard{}
	url := clienttest.StartHoard(t, h)
	a := ApprovalsOf(clientFor(t, who(t, "owner"), []string{url, bridgetest.Down(t)}, nil))
	if _, _, err := a.List(t.Context()); !errors.Is(err, client.ErrPartial) {
		t.Errorf("list: %v", err)
	}
	if _, err := a.Allow(t.Context(), agent); !errors.Is(err, client.ErrPartial) || h.Count() != 0 {
		t.Errorf("allow: %v, %d events", err, h.Count())
	}
	list := &nostr.Event{Kind: nostr.KindApplicationSpecificData, CreatedAt: nostr.Timestamp(time.Now().Unix() - 5), Content: "kept",
		Tags: nostr.Tags{{"d", approvalsD}, {"p", "x"}, {"note", "kept"}}}
	if err := who(t, "owner").Sign(list); err != nil {
		t.Fatal(err)
	}
	h.Put(list)
	// The relay that is down may have a newer list, without somebody who is in
	// this one.
	if _, err := a.Allow(t.Context(), agent); !errors.Is(err, client.ErrPartial) || h.Count() != 1 {
		t.Errorf("allow over half of the lists: %v, %d events", err, h.Count())
	}
	if status, err := ApprovalsOf(clientFor(t, who(t, "owner"), []string{url}, nil)).Allow(t.Context(), agent); err != nil {
		t.Fatalf("allow: %v, %+v", err, status)
	}
	got := h.Last()
	if got.Content != "kept" || got.Tags.Find("note") == nil || len(got.Tags) != 4 {
		t.Errorf("the list is %v", got)
	}
	ahead := *list
	ahead.CreatedAt = nostr.Timestamp(time.Now().Unix() + 3600)
	if err := who(t, "owner").Sign(&ahead); err != nil {
		t.Fatal(err)
	}
	h.Put(&ahead)
	if _, err := a.Revoke(t.Context(), "x"); !errors.Is(err, client.ErrClockPoisoned) {
		t.Errorf("a list from the future: %v", err)
	}
}
