package client

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/bridge/bridgetest"
	"engramd/internal/wire"
)

// One sync makes all relays alike, whoever asks for it.
func TestSync(t *testing.T) {
	full, empty, stale := bridgetest.Start(t), bridgetest.Start(t), bridgetest.Start(t)
	down := bridgetest.Down(t)
	now := time.Now().Unix()
	put(t, []string{full.URL, stale.URL}, engramAt(t, "agent", "owner", "mem/a", "old", now-50), engramAt(t, "agent", "owner", "mem/b", "b", now-50))
	put(t, []string{full.URL}, engramAt(t, "agent", "owner", "mem/a", "new", now-40), engramAt(t, "agent", "owner", "core", "me", now-40))
	removed := agentOf(t, "agent", "owner", []string{full.URL}, nil)
	mustSet(t, removed, "mem/c", "x")
	if _, _, err := removed.Remove(t.Context(), "mem/c", false); err != nil {
		t.Fatal(err)
	}
	relays := []string{full.URL, empty.URL, stale.URL, down}
	report, err := ownerOf(t, "agent", "owner", relays, nil).Sync(t.Context())
	if err != nil || report.Heads != 4 || !report.Status.Partial {
		t.Fatalf("%+v, %v", report, err)
	}
	for i, want := range []SyncRelay{{Had: 4}, {Sent: 4}, {Had: 1, Sent: 3}} {
		got := report.Relays[i]
		if got.Had != want.Had || got.Sent != want.Sent || got.Refused != 0 || got.Err != nil || got.URL != relays[i] {
			t.Errorf("relay %d: %+v, want %+v", i, got, want)
		}
	}
	if report.Relays[3].Err == nil {
		t.Error("the relay that is down is said to be well")
	}
	want, _, err := agentOf(t, "agent", "owner", relays[:1], nil).ListAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range relays[:3] {
		got, _, err := agentOf(t, "agent", "owner", []string{url}, nil).ListAll(t.Context())
		if err != nil || !sameListing(got, want) {
			t.Errorf("%s has %+v, %v", url, got, err)
		}
	}
	again, err := agentOf(t, "agent", "owner", relays[:3], nil).Sync(t.Context())
	if err != nil || again.Status.Partial {
		t.Fatal(err)
	}
	for _, r := range again.Relays {
		if r.Had != 4 || r.Sent != 0 {
			t.Errorf("again: %+v", r)
		}
	}
}

// What a relay does not take is told, and expired heads are not sent.
func TestSyncThatIsRefused(t *testing.T) {
	now := time.Now().Unix()
	expired := engramAt(t, "agent", "owner", "mem/b", "x", now-50)
	expired.Tags = append(expired.Tags, nostr.Tag{"expiration", "1700000000"})
	if err := who(t, "agent").Sign(expired); err != nil {
		t.Fatal(err)
	}
	h := &hoard{events: []*nostr.Event{engramAt(t, "agent", "owner", "mem/a", "x", now-50), expired}}
	refusing := startFake(t, &fakeRelay{serve: func(c *fakeConn) {
		for f, ok := c.read(); ok; f, ok = c.read() {
			switch f.Label {
			case wire.LabelReq:
				c.send(wire.AppendEOSE(nil, f.SubID))
			case wire.LabelEvent:
				c.send(wire.AppendOK(nil, f.Event.ID, false, "blocked: not today"))
			}
		}
	}})
	report, err := agentOf(t, "agent", "owner", []string{startHoard(t, h), refusing}, nil).Sync(t.Context())
	if err != nil || report.Heads != 2 || report.Expired != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
	if r := report.Relays[1]; r.Refused != 1 || r.Sent != 0 || !errors.Is(r.Err, ErrAuth) {
		t.Errorf("%+v", r)
	}
	if _, err := agentOf(t, "agent", "owner", []string{bridgetest.Down(t)}, nil).Sync(t.Context()); !errors.Is(err, ErrNoRelay) {
		t.Errorf("all down: %v", err)
	}
}

func sameListing(a, b Listing) bool {
	return a.Core != nil && b.Core != nil && *a.Core == *b.Core && slices.Equal(a.Memories, b.Memories) &&
		slices.Equal(a.Tombstones, b.Tombstones) && a.Unreadable == b.Unreadable
}
