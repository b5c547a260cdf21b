package memory

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
)

func TestDiscover(t *testing.T) {
	now := time.Now().Unix()
	agent := who(t, "agent").PubKey()
	long := make([]nostr.Tag, client.MaxRelays+1)
	for i := range long {
		long[i] = nostr.Tag{"r", fmt.Sprintf("wss://r%d.example.com", i)}
	}
	foreign := clienttest.RelayList(t, now, nostr.Tag{"r", "wss://foreign.example.com"})
	foreign.PubKey = who(t, "second").PubKey()
	if err := who(t, "second").Sign(foreign); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		relays  [][]*nostr.Event // what each configured relay has
		down    bool             // and one more is down
		want    []string         // asked besides the configured ones
		partial bool
	}{
		{"none", [][]*nostr.Event{nil, nil}, false, nil, false},
		{"write and unmarked entries", [][]*nostr.Event{nil, {clienttest.RelayList(t, now,
			nostr.Tag{"r", "wss://both.example.com"}, nostr.Tag{"r", "wss://read.example.com", "read"},
			nostr.Tag{"r", "wss://write.example.com/x?y", "write"}, nostr.Tag{"r", "https://no.example.com"}, nostr.Tag{"r"},
			nostr.Tag{"r", "WSS://Both.Example.com:443/"}, nostr.Tag{"p", "wss://tag.example.com"}, nostr.Tag{"r", "wss://empty.example.com", ""},
		)}}, false, []string{"wss://both.example.com", "wss://write.example.com/x?y", "wss://empty.example.com"}, false},
		{"read entries only", [][]*nostr.Event{{clienttest.RelayList(t, now, nostr.Tag{"r", "wss://read.example.com", "read"})}}, false, nil, false},
		{"the newest counts", [][]*nostr.Event{
			{clienttest.RelayList(t, now-5, nostr.Tag{"r", "wss://old.example.com"})},
			{clienttest.RelayList(t, now, nostr.Tag{"r", "wss://new.example.com"})},
			{clienttest.RelayList(t, now-9, nostr.Tag{"r", "wss://older.example.com"})},
		}, false, []string{"wss://new.example.com"}, false},
		{"the newest counts, even if it is empty", [][]*nostr.Event{
			{clienttest.RelayList(t, now-5, nostr.Tag{"r", "wss://old.example.com"}), clienttest.RelayList(t, now)},
		}, false, nil, false},
		{"somebody else's", [][]*nostr.Event{{foreign}}, false, nil, false},
		{"found, and one is down", [][]*nostr.Event{{clienttest.RelayList(t, now, nostr.Tag{"r", "wss://a.example.com"})}}, true, []string{"wss://a.example.com"}, true},
		{"none, and one is down", [][]*nostr.Event{nil}, true, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var relays []string
			for _, events := range tt.relays {
				relays = append(relays, clienttest.StartHoard(t, &clienttest.Hoard{Events: events}))
			}
			if tt.down {
				relays = append(relays, bridgetest.Down(t))
			}
			c := clientFor(t, who(t, "owner"), relays, nil)
			if err := c.Discover(t.Context(), agent); err != nil {
				t.Fatal(err)
			}
			want := slices.Concat(relays, tt.want)
			if !slices.Equal(c.Relays(), want) || len(c.Doubts()) > 0 != tt.partial {
				t.Errorf("relays %v, doubts %+v; want %v, %v", c.Relays(), c.Doubts(), want, tt.partial)
			}
			var writers []string
			for _, t := range c.WriteTargets() {
				writers = append(writers, t.URL)
			}
			if !slices.Equal(writers, relays) {
				t.Errorf("written to %v, want the configured ones", writers)
			}
			if left := c.LeftOut(); tt.want == nil && left != nil || tt.want != nil && !slices.Equal(left, relays) {
				t.Errorf("left out by the list: %v", left)
			}
		})
	}

	c := clientFor(t, who(t, "owner"), []string{clienttest.StartHoard(t, &clienttest.Hoard{Events: []*nostr.Event{clienttest.RelayList(t, now, long...)}})}, nil)
	if err := c.Discover(t.Context(), agent); err != nil || len(c.Relays()) != 1+client.MaxRelays || len(c.Doubts()) != 1 {
		t.Errorf("a long list: %v, %d relays, %+v", err, len(c.Relays()), c.Doubts())
	}
	if err := c.Discover(t.Context(), "npub1"); err == nil {
		t.Error("a key that is none is taken")
	}
	down := clientFor(t, who(t, "owner"), []string{bridgetest.Down(t)}, nil)
	if err := down.Discover(t.Context(), agent); !errors.Is(err, client.ErrNoRelay) || len(down.Doubts()) != 1 {
		t.Errorf("all down: %v, %+v", err, down.Doubts())
	}
}

// Memory is also read where the agent's list says, and while the list may be
// unknown nothing is reported absent.
func TestDiscoveredRelaysAreAsked(t *testing.T) {
	now := time.Now().Unix()
	home := bridgetest.Start(t).URL
	wrote := mustSet(t, agentOf(t, "agent", "owner", []string{home}, nil), "mem/a", "at home")
	directory := clienttest.StartHoard(t, &clienttest.Hoard{Events: []*nostr.Event{clienttest.RelayList(t, now, nostr.Tag{"r", home, "write"})}})

	m := ownerOf(t, "agent", "owner", []string{directory}, nil)
	if _, _, err := m.Get(t.Context(), "mem/a"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("before: %v", err)
	}
	if err := m.c.Discover(t.Context(), m.Agent()); err != nil {
		t.Fatal(err)
	}
	if got, status, err := m.Get(t.Context(), "mem/a"); err != nil || got != wrote || status.Partial || status.Relays[1].URL != home {
		t.Errorf("after: %+v, %v, %+v", got, err, status)
	}
	// A listed relay is not said to lack what it was not asked for.
	log, status, err := m.Log(t.Context(), "mem/a")
	if listed := status.Relays[1].Err; err != nil || len(log) != 1 || status.Partial || !errors.Is(listed, client.ErrHistoryUnasked) || !errors.Is(listed, client.ErrNoHistory) {
		t.Errorf("its versions: %v, %v, %+v", log, err, status)
	}

	// It does not tell which list there is, and has nothing else.
	mute := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok; f, ok = c.Read() {
			switch {
			case f.Label != wire.LabelReq:
			case f.Filters[0].Kinds[0] == nostr.KindRelayListMetadata:
				c.Send(wire.AppendClosed(nil, f.SubID, "error: not now"))
			default:
				c.Send(wire.AppendEOSE(nil, f.SubID, "finish"))
			}
		}
	}})
	unsure := ownerOf(t, "agent", "owner", []string{mute, home}, nil)
	if err := unsure.c.Discover(t.Context(), m.Agent()); err != nil {
		t.Fatal(err)
	}
	if _, status, err := unsure.Get(t.Context(), "mem/none"); !errors.Is(err, client.ErrPartial) || !status.Partial {
		t.Errorf("with a list that may be unknown: %v, %+v", err, status)
	}
	if got, status, err := unsure.Get(t.Context(), "mem/a"); err != nil || got != wrote || !status.Partial {
		t.Errorf("with a list that may be unknown: %+v, %v", got, err)
	}
}

// A list that was found while some relay failed may be old: then nothing is
// reported absent, and what is found may be old.
func TestAnOldListIsDoubted(t *testing.T) {
	now := time.Now().Unix()
	left, home := bridgetest.Start(t).URL, bridgetest.Start(t).URL
	mustSet(t, agentOf(t, "agent", "owner", []string{home}, nil), "core", "at home")
	a := clienttest.StartHoard(t, &clienttest.Hoard{Events: []*nostr.Event{clienttest.RelayList(t, now-5, nostr.Tag{"r", left})}})
	b := clienttest.StartHoard(t, &clienttest.Hoard{Events: []*nostr.Event{clienttest.RelayList(t, now, nostr.Tag{"r", home})}})

	m := ownerOf(t, "agent", "owner", []string{a, b}, nil)
	if err := m.c.Discover(t.Context(), m.Agent()); err != nil {
		t.Fatal(err)
	}
	if got, status, err := m.Get(t.Context(), "core"); err != nil || got.Text != "at home" || status.Partial {
		t.Errorf("both answer: %+v, %v, %+v", got, err, status)
	}
	m = ownerOf(t, "agent", "owner", []string{a, bridgetest.Down(t)}, nil)
	if err := m.c.Discover(t.Context(), m.Agent()); err != nil {
		t.Fatal(err)
	}
	if _, status, err := m.Get(t.Context(), "core"); !errors.Is(err, client.ErrPartial) || len(status.Relays) != 3 {
		t.Errorf("one is down: %v, %+v", err, status)
	}
}

// With a deadline, the search for the list leaves time for the question.
func TestDiscoverLeavesTime(t *testing.T) {
	relays := []string{clienttest.Silent(t), clienttest.StartHoard(t, &clienttest.Hoard{})}
	scaled(t, func(timeout func(*client.Options)) error {
		var o client.Options
		timeout(&o)
		ctx, cancel := contextWithin(t, 2*o.Timeout)
		defer cancel()
		start := time.Now()
		if err := clientFor(t, who(t, "owner"), relays, func(o *client.Options) { o.Grace = 0 }).Discover(ctx, who(t, "agent").PubKey()); err != nil {
			return err
		}
		return inTime("discovery in two of them", start, timeout)
	})
}
