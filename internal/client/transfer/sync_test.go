package transfer

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/client/memory"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
)

// alike synchronizes relays in the memory of one pair.
func alike(t testing.TB, id client.Identity, agent, owner string, relays []string) Report {
	t.Helper()
	return move(t, id, relays, relays, func(tr *Transfer) { tr.Filters = MemoryOf(agent, owner, 0) })
}

// One sync makes all relays alike, whichever party runs it.
func TestAlike(t *testing.T) {
	full, empty, stale := bridgetest.Start(t), bridgetest.Start(t), bridgetest.Start(t)
	down := bridgetest.Down(t)
	now := time.Now().Unix()
	put(t, []string{full.URL, stale.URL}, clienttest.EngramAt(t, "agent", "owner", "mem/a", "old", now-50), clienttest.EngramAt(t, "agent", "owner", "mem/b", "b", now-50))
	put(t, []string{full.URL}, clienttest.EngramAt(t, "agent", "owner", "mem/a", "new", now-40), clienttest.EngramAt(t, "agent", "owner", "core", "me", now-40))
	removed := agentOf(t, "agent", "owner", []string{full.URL}, nil)
	mustSet(t, removed, "mem/c", "x")
	if _, _, err := removed.Remove(t.Context(), "mem/c", false); err != nil {
		t.Fatal(err)
	}
	relays := []string{full.URL, empty.URL, stale.URL, down}
	agent, owner := who(t, "agent"), who(t, "owner")
	report := alike(t, owner, agent.PubKey(), owner.PubKey(), relays)
	for i, want := range []Target{{Lacked: 1, Newer: 1}, {Lacked: 5, Sent: 6, Past: 1}, {Lacked: 3, Sent: 4, Past: 1}} {
		want.URL = relays[i]
		got := report.Targets[i]
		got.past = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("relay %d: %+v, want %+v", i, got, want)
		}
	}
	if report.Targets[3].Err == nil || report.Sources[3].Err == nil {
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
	for _, r := range alike(t, agent, agent.PubKey(), owner.PubKey(), relays[:3]).Targets {
		if r.Lacked != 0 || r.Sent != 0 || !r.UpToDate() {
			t.Errorf("again: %+v", r)
		}
	}
}

// A refused event is reported, and expired heads are not sent.
func TestAlikeThatIsRefused(t *testing.T) {
	now := time.Now().Unix()
	expired := clienttest.EngramAt(t, "agent", "owner", "mem/b", "x", now-50)
	expired.Tags = append(expired.Tags, nostr.Tag{"expiration", "1700000000"})
	if err := who(t, "agent").Sign(expired); err != nil {
		t.Fatal(err)
	}
	h := &clienttest.Hoard{Events: []*nostr.Event{clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", now-50), expired}}
	refusing := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok; f, ok = c.Read() {
			switch f.Label {
			case wire.LabelReq:
				c.Send(wire.AppendEOSE(nil, f.SubID))
			case wire.LabelEvent:
				c.Send(wire.AppendOK(nil, f.Event.ID, false, "blocked: not today"))
			}
		}
	}})
	agent, owner := who(t, "agent"), who(t, "owner")
	report := alike(t, agent, agent.PubKey(), owner.PubKey(), []string{clienttest.StartHoard(t, h), refusing})
	if r := report.Targets[1]; r.Lacked != 2 || r.Expired != 1 || len(r.Refused) != 1 || r.Sent != 0 || r.UpToDate() || r.Refused[0].Reason == "" {
		t.Errorf("%+v", r)
	}
	for _, r := range alike(t, agent, agent.PubKey(), owner.PubKey(), []string{bridgetest.Down(t), bridgetest.Down(t)}).Sources {
		if r.Whole() {
			t.Errorf("all down: %+v", r)
		}
	}
}

// A doubt about a relay is reported once, and replaces no failure.
func TestDoubt(t *testing.T) {
	failed := errors.New("it failed")
	r := Report{Sources: []Source{{URL: "ws://a"}, {URL: "ws://b", Err: failed}}}
	for _, url := range []string{"ws://a", "ws://b", "ws://c"} {
		r.Doubt(url, client.ErrUnsure)
	}
	want := []Source{{URL: "ws://a", Err: client.ErrUnsure}, {URL: "ws://b", Err: failed}, {URL: "ws://c", Err: client.ErrUnsure}}
	if !slices.Equal(r.Sources, want) {
		t.Errorf("%+v", r.Sources)
	}
}

func sameListing(a, b memory.Listing) bool {
	return a.Core != nil && b.Core != nil && *a.Core == *b.Core && slices.Equal(a.Memories, b.Memories) &&
		slices.Equal(a.Tombstones, b.Tombstones) && a.Unreadable == b.Unreadable
}

// A sync tells a relay that only the agent's list names no more than other
// reads do, and does not ask it for history, while it gets what it lacks.
func TestAlikeIsDiscreet(t *testing.T) {
	now := time.Now().Unix()
	memory := clienttest.EngramAt(t, "agent", "owner", "mem/a", "text", now-5)
	old, newer := clienttest.EngramAt(t, "agent", "owner", "mem/b", "old", now-9), clienttest.EngramAt(t, "agent", "owner", "mem/b", "new", now-4)
	var mu sync.Mutex
	var heard, took []string
	hear := func(text string) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, text)
	}
	far := clienttest.Start(t, &clienttest.Fake{
		HTTP: func(w http.ResponseWriter, r *http.Request) {
			hear("HTTP " + r.URL.String())
			w.WriteHeader(http.StatusNotFound)
		},
		Serve: func(c *clienttest.Conn) {
			c.Sendf(`["AUTH","who"]`)
			for f, ok := c.Read(); ok; f, ok = c.Read() {
				switch f.Label {
				case wire.LabelReq:
					hear(fmt.Sprint(f.Filters[0]))
					if f.Filters[0].Matches(old) {
						c.Event(f.SubID, old)
					}
					c.Send(wire.AppendEOSE(nil, f.SubID, "finish"))
				case wire.LabelEvent:
					mu.Lock()
					took = append(took, f.Event.ID)
					mu.Unlock()
					c.Send(wire.AppendOK(nil, f.Event.ID, true, ""))
				default:
					hear(f.Label)
				}
			}
		}})
	home := bridgetest.Start(t).URL
	put(t, []string{home}, memory, old, newer, clienttest.RelayList(t, now, nostr.Tag{"r", far}))
	c, agent, owner := clientFor(t, who(t, "owner"), []string{home}, nil), who(t, "agent").PubKey(), who(t, "owner").PubKey()
	if err := c.Discover(t.Context(), agent); err != nil {
		t.Fatal(err)
	}
	peers := Peers(c)
	report, err := Transfer{Sources: peers, Targets: peers, Filters: MemoryOf(agent, owner, 0), Clock: time.Now}.Run(t.Context())
	if err != nil || len(report.Targets) != 2 || !report.Targets[1].UpToDate() || !report.Sources[1].Whole() {
		t.Fatalf("%+v, %v", report, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, ev := range []*nostr.Event{memory, newer} {
		if !slices.Contains(took, ev.ID) {
			t.Errorf("it took %v", took)
		}
	}
	for _, text := range heard {
		if strings.HasPrefix(text, "HTTP ") || text == wire.LabelAuth || strings.Contains(text, owner) || strings.Contains(text, memory.Tags.GetD()) || strings.Contains(text, newer.Tags.GetD()) {
			t.Errorf("it was told %s", text)
		}
	}
}
