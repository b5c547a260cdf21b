package transfer

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
)

func peerFor(t testing.TB, id client.Identity, url string, change func(*client.Options)) *Peer {
	t.Helper()
	o := client.Options{Timeout: patience, Grace: patience}
	if change != nil {
		change(&o)
	}
	p, err := NewPeer(id, url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// notesOf returns signed events of a named key, one a second from a time on.
func notesOf(t testing.TB, name string, from int64, n int) []*nostr.Event {
	t.Helper()
	var out []*nostr.Event
	for i := range n {
		ev := &nostr.Event{Kind: 1, CreatedAt: nostr.Timestamp(from + int64(i/3)), Content: strings.Repeat("x", i%7) + name}
		ev.Tags = nostr.Tags{{"n", hex.EncodeToString([]byte{byte(i >> 8), byte(i)})}}
		if err := who(t, name).Sign(ev); err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out
}

func idsOf(events []*nostr.Event) [][32]byte {
	var out [][32]byte
	for _, ev := range events {
		out = append(out, rawID(ev))
	}
	return out
}

// sameIDs fails unless got and want contain the same ids, in any order.
func sameIDs(t testing.TB, what string, got, want [][32]byte) {
	t.Helper()
	order := func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) }
	got, want = slices.Clone(got), slices.Clone(want)
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		t.Errorf("%s: %d ids, want %d", what, len(got), len(want))
	}
}

var anyNote = nostr.Filter{Kinds: []int{1}}

func TestReconcile(t *testing.T) {
	all := notesOf(t, "agent", 1_700_000_000, 900)
	for _, limit := range []int{0, 300} {
		relay := &syncing{limit: limit, Hoard: clienttest.Hoard{Events: all[:850]}}
		p := peerFor(t, who(t, "agent"), startSyncing(t, relay), nil)
		have, need, err := p.Reconcile(t.Context(), anyNote, itemsOf(all[30:]))
		if err != nil {
			t.Fatal(err)
		}
		sameIDs(t, "only here", have, idsOf(all[850:]))
		sameIDs(t, "only there", need, idsOf(all[:30]))
		sessions, _ := relay.counted()
		if want := limit == 0; (sessions == 1) != want {
			t.Errorf("limit %d: %d sessions", limit, sessions)
		}
		var got []*nostr.Event
		missing, err := p.Fetch(t.Context(), anyNote, need, func(ev *nostr.Event) error { got = append(got, ev); return nil })
		if err != nil || len(missing) > 0 {
			t.Errorf("%d missing, %v", len(missing), err)
		}
		sameIDs(t, "fetched", idsOf(got), need)
	}
}

func TestReconcileWhereItIsNotOffered(t *testing.T) {
	p := peerFor(t, who(t, "agent"), startSyncing(t, &syncing{nips: "[1,42]"}), nil)
	if _, _, err := p.Reconcile(t.Context(), anyNote, nil); !errors.Is(err, ErrNoSync) {
		t.Errorf("not listed: %v", err)
	}
	mute := &syncing{said: func(int, []byte) []byte { return nil }}
	p = peerFor(t, who(t, "agent"), startSyncing(t, mute), func(o *client.Options) { o.Grace = 0 })
	for range 2 {
		if _, _, err := p.Reconcile(t.Context(), anyNote, nil); !errors.Is(err, ErrNoSync) {
			t.Errorf("no answer: %v", err)
		}
	}
	if sessions, _ := mute.counted(); sessions != 1 {
		t.Errorf("asked %d times", sessions)
	}
}

// A relay that refuses every reconciliation, or ends one that it began, is read
// in pages.
func TestReconcileWithOneThatWillNot(t *testing.T) {
	all := notesOf(t, "agent", 1_700_000_000, 90)
	tight := &syncing{limit: 1, Hoard: clienttest.Hoard{Events: all}}
	p := peerFor(t, who(t, "agent"), startSyncing(t, tight), nil)
	if _, _, err := p.Reconcile(t.Context(), anyNote, nil); !errors.Is(err, ErrNoSync) {
		t.Errorf("too many in a second: %v", err)
	}
	if sessions, _ := tight.counted(); sessions > 100 {
		t.Errorf("asked %d times", sessions)
	}
	ended := clienttest.Start(t, &clienttest.Fake{HTTP: (&syncing{nips: "[77]"}).serveHTTP, Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok; f, ok = c.Read() {
			switch f.Label {
			case wire.LabelNegOpen:
				c.Sendf(`["NEG-MSG",%q,"61000001%032x"]`, f.SubID, 1) // a fingerprint that differs
			case wire.LabelNegMsg:
				c.Send(wire.AppendNegErr(nil, f.SubID, "closed: others need the memory"))
			}
		}
	}})
	p = peerFor(t, who(t, "agent"), ended, nil)
	if _, _, err := p.Reconcile(t.Context(), anyNote, itemsOf(all[1:80])); !errors.Is(err, ErrNoSync) {
		t.Errorf("ended: %v", err)
	}
}

// A relay that is too busy to reconcile is read in pages and asked again the
// next time; one that never reconciles is not asked again.
func TestReconcileWithOneThatIsBusy(t *testing.T) {
	for text, want := range map[string]int64{"error: the relay holds as many": 2, "closed: others need the memory": 2, "blocked: not served here": 1} {
		var asked atomic.Int64
		relay := clienttest.Start(t, &clienttest.Fake{HTTP: (&syncing{nips: "[77]"}).serveHTTP, Serve: func(c *clienttest.Conn) {
			for f, ok := c.Read(); ok; f, ok = c.Read() {
				if f.Label == wire.LabelNegOpen {
					asked.Add(1)
					c.Send(wire.AppendNegErr(nil, f.SubID, text))
				}
			}
		}})
		p := peerFor(t, who(t, "agent"), relay, nil)
		for range 2 {
			if _, _, err := p.Reconcile(t.Context(), anyNote, nil); !errors.Is(err, ErrNoSync) {
				t.Errorf("%s: %v", text, err)
			}
		}
		if n := asked.Load(); n != want {
			t.Errorf("%s: asked %d times, want %d", text, n, want)
		}
	}
}

// A reconciliation with a relay that lies about its events is given up.
func TestReconcileWithLiars(t *testing.T) {
	for name, said := range map[string]func(int, []byte) []byte{
		"never done": func(n int, _ []byte) []byte {
			return append([]byte{0x61, 0, 0, 1, byte(n), byte(n >> 8)}, make([]byte, 14)...)
		},
		"rubbish": func(int, []byte) []byte { return []byte{0x61, 0xff, 0xff} },
		"ids without bound": func(n int, _ []byte) []byte {
			return append(manyIDs(n, 900), 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		},
	} {
		liar := &syncing{said: said, Hoard: clienttest.Hoard{Events: notesOf(t, "agent", 1_700_000_000, 90)}}
		p := peerFor(t, who(t, "agent"), startSyncing(t, liar), func(o *client.Options) { o.Limits.Events = 5000 })
		if _, _, err := p.Reconcile(t.Context(), anyNote, nil); !errors.Is(err, client.ErrMisbehaved) {
			t.Errorf("%s: %v", name, err)
		}
		other := peerFor(t, who(t, "agent"), startSyncing(t, &syncing{Hoard: clienttest.Hoard{Events: notesOf(t, "owner", 1_700_000_000, 90)}}), nil)
		_, _, err := other.Between(t.Context(), p, anyNote)
		var failed *PeerError
		if named := errors.As(err, &failed) && failed.Peer == p; !errors.Is(err, client.ErrMisbehaved) || !named && name != "never done" || !strings.Contains(err.Error(), p.URL()) {
			t.Errorf("%s, between two: %v", name, err)
		}
	}
}

// manyIDs returns a message that lists ids which no relay has, up to a time,
// and leaves the rest open.
func manyIDs(round, n int) []byte {
	msg := []byte{0x61, 2, 0, 2, 0x80 | byte(n>>7), byte(n & 0x7f)}
	for i := range n {
		id := make([]byte, 32)
		id[0], id[1], id[2], id[3] = byte(round), byte(round>>8), byte(i), byte(i>>8)
		msg = append(msg, id...)
	}
	return msg
}

func TestBetween(t *testing.T) {
	all := notesOf(t, "agent", 1_700_000_000, 1200)
	for _, limit := range []int{0, 400} {
		a := &syncing{limit: limit, Hoard: clienttest.Hoard{Events: all[:1150]}}
		b := &syncing{Hoard: clienttest.Hoard{Events: all[40:]}}
		pa, pb := peerFor(t, who(t, "agent"), startSyncing(t, a), nil), peerFor(t, who(t, "agent"), startSyncing(t, b), nil)
		mine, theirs, err := pa.Between(t.Context(), pb, anyNote)
		if err != nil {
			t.Fatal(err)
		}
		sameIDs(t, "only in the one", mine, idsOf(all[:40]))
		sameIDs(t, "only in the other", theirs, idsOf(all[1150:]))
	}
}

// An event that is not delivered is reported, and one that was not asked for is
// refused.
func TestFetchFromLiars(t *testing.T) {
	all := notesOf(t, "agent", 1_700_000_000, 250)
	take := func(*nostr.Event) error { return nil }
	hiding := &syncing{hide: func(ev *nostr.Event) bool { return ev.ID == all[7].ID }, Hoard: clienttest.Hoard{Events: all, Most: 90}}
	p := peerFor(t, who(t, "agent"), startSyncing(t, hiding), nil)
	missing, err := p.Fetch(t.Context(), anyNote, idsOf(all), take)
	if err != nil {
		t.Error(err)
	}
	sameIDs(t, "missing", missing, idsOf(all[7:8]))
	stray := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok; f, ok = c.Read() {
			for _, ev := range notesOf(t, "stranger", 1_700_000_000, 150) {
				c.Event(f.SubID, ev)
			}
			c.Send(wire.AppendEOSE(nil, f.SubID))
		}
	}})
	if _, err := peerFor(t, who(t, "agent"), stray, nil).Fetch(t.Context(), anyNote, idsOf(all), take); !errors.Is(err, client.ErrMisbehaved) {
		t.Errorf("events that were not asked for: %v", err)
	}
}

// Pages, publishing and a live question work against engramd, as a party.
func TestPeerAtTheRelay(t *testing.T) {
	relay := bridgetest.Start(t)
	agent := peerFor(t, who(t, "agent"), relay.URL, func(o *client.Options) { o.Limits.Page = 7 })
	now := time.Now().Unix()
	var rows [][]*nostr.Event
	for i := range 20 {
		slug := "mem/" + string(rune('a'+i))
		rows = append(rows, []*nostr.Event{clienttest.EngramAt(t, "agent", "owner", "core", slug, now-100+int64(i)), clienttest.EngramAt(t, "agent", "owner", "mem/a", slug, now-100+int64(i))})
	}
	accepted, superseded := 0, 0
	err := agent.PublishAll(t.Context(), rows, func(_ *nostr.Event, s client.PublishStatus) {
		if s.Accepted {
			accepted++
		} else if s.Superseded {
			superseded++
		}
	})
	if err != nil || accepted+superseded != 40 {
		t.Fatalf("%d taken, %d too old, %v", accepted, superseded, err)
	}
	owner := peerFor(t, who(t, "owner"), relay.URL, nil)
	mine := nostr.Filter{Kinds: []int{30174}, Tags: nostr.TagMap{"p": {who(t, "owner").PubKey()}}}
	seen := 0
	status, err := owner.Pages(t.Context(), mine, func(*nostr.Event) error { seen++; return nil })
	if err != nil || seen != 2 || !status.Complete {
		t.Errorf("%d heads, %+v, %v", seen, status, err)
	}
	past := 0
	status, err = agent.History(t.Context(), nostr.Filter{Kinds: []int{30174}, Authors: []string{who(t, "agent").PubKey()}},
		func(*nostr.Event) error { past++; return nil })
	if err != nil || past != accepted-2 || !status.Complete {
		t.Errorf("%d versions of %d, %+v, %v", past, accepted-2, status, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stored, live := make(chan struct{}), make(chan *nostr.Event, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- owner.Live(ctx, nostr.Filter{Kinds: mine.Kinds, Tags: mine.Tags, LimitZero: true},
			func(ev *nostr.Event) error { live <- ev; return nil }, func() { close(stored) })
	}()
	<-stored
	ev := clienttest.EngramAt(t, "agent", "owner", "mem/a", "live", now)
	if s := agent.Publish(t.Context(), ev); !s.Accepted {
		t.Fatal(s.Err)
	}
	if got := <-live; got.ID != ev.ID {
		t.Error("another event came")
	}
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Every way of reading reports that the relay refuses this key.
func TestPeerIsRefused(t *testing.T) {
	relay := bridgetest.Start(t)
	p := peerFor(t, who(t, "stranger"), relay.URL, nil)
	f := nostr.Filter{Kinds: []int{30174}, Tags: nostr.TagMap{"p": {who(t, "owner").PubKey()}}}
	take := func(*nostr.Event) error { return nil }
	if _, err := p.Pages(t.Context(), f, take); !errors.Is(err, client.ErrAuth) {
		t.Errorf("pages: %v", err)
	}
	if _, _, err := p.Reconcile(t.Context(), f, nil); !errors.Is(err, client.ErrAuth) {
		t.Errorf("reconciling: %v", err)
	}
	if err := p.Live(t.Context(), f, take, func() {}); !errors.Is(err, client.ErrAuth) {
		t.Errorf("live: %v", err)
	}
}

// A live question to a relay that died silently ends.
func TestLiveEndsWithoutASignOfLife(t *testing.T) {
	deaf := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		c.Read()
		<-t.Context().Done() // it reads no ping
	}})
	p := peerFor(t, who(t, "agent"), deaf, nil)
	conn, err := p.c.Connect(t.Context(), p.t)
	if err != nil {
		t.Fatal(err)
	}
	go conn.Ping(t.Context(), 50*time.Millisecond)
	_, err = follow(t.Context(), conn, anyNote, p.c.Options().Limits, func(*nostr.Event) error { return nil }, func() {})
	if !errors.Is(err, client.ErrLost) || !strings.Contains(err.Error(), "no sign of life") {
		t.Errorf("%v", err)
	}
}

// A relay that dies while events are sent gets no more of them; one that
// refuses each event is sent all.
func TestPublishAllEndsWithTheRelay(t *testing.T) {
	var rows [][]*nostr.Event
	for _, ev := range notesOf(t, "agent", 1_700_000_000, 200) {
		rows = append(rows, []*nostr.Event{ev})
	}
	send := func(url string) (answered int, err error) {
		p := peerFor(t, who(t, "agent"), url, nil)
		err = p.PublishAll(t.Context(), rows, func(_ *nostr.Event, s client.PublishStatus) { answered++ })
		return answered, err
	}
	var left atomic.Int64 // answers, of all connections
	left.Store(20)
	dying := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for left.Add(-1) > 0 {
			if f, ok := c.Read(); ok {
				c.Send(wire.AppendOK(nil, f.Event.ID, true, ""))
			}
		}
	}})
	if answered, err := send(dying); err == nil || answered >= 100 {
		t.Errorf("%d answered, %v", answered, err)
	}
	if answered, err := send(clienttest.Refusing(t, "blocked: no")); err != nil || answered != 200 {
		t.Errorf("%d answered, %v", answered, err)
	}
}

// A relay that has a filter split into spans of time may name no more ids in
// all of them than in one.
func TestReconcileBoundsAllParts(t *testing.T) {
	all := notesOf(t, "agent", 1_700_000_000, 300)
	url := startSyncing(t, &syncing{limit: 100, Hoard: clienttest.Hoard{Events: all}})
	other := peerFor(t, who(t, "agent"), startSyncing(t, &syncing{}), nil)
	for most, want := range map[int]error{299: client.ErrMisbehaved, 300: nil} {
		p := peerFor(t, who(t, "agent"), url, func(o *client.Options) { o.Limits.Events = most })
		if _, need, err := p.Reconcile(t.Context(), anyNote, nil); !errors.Is(err, want) || err == nil && len(need) != 300 {
			t.Errorf("%d: %d ids, %v", most, len(need), err)
		}
		if mine, _, err := p.Between(t.Context(), other, anyNote); !errors.Is(err, want) || err == nil && len(mine) != 300 {
			t.Errorf("%d, between two: %d ids, %v", most, len(mine), err)
		}
		if _, theirs, err := other.Between(t.Context(), p, anyNote); !errors.Is(err, want) || err == nil && len(theirs) != 300 {
			t.Errorf("%d, as the other: %d ids, %v", most, len(theirs), err)
		}
	}
}

// TestPagesOverALostConnection: when the connection ends during a read in
// pages, a new one is made, and a page of which nothing arrived is requested
// again.
func TestPagesOverALostConnection(t *testing.T) {
	h := &clienttest.Hoard{Events: notesOf(t, "agent", 1000, 50), Most: 20}
	var asked atomic.Int32
	url := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok; f, ok = c.Read() {
			if f.Label == wire.LabelReq && asked.Add(1) == 2 {
				return // and closes
			}
			h.Answer(c, f)
		}
	}})
	p := peerFor(t, who(t, "agent"), url, nil)
	taken := map[string]int{}
	status, err := p.Pages(t.Context(), nostr.Filter{Kinds: []int{1}}, func(ev *nostr.Event) error { taken[ev.ID]++; return nil })
	if err != nil || len(taken) != 50 || asked.Load() < 4 || status.Events != 50 {
		t.Errorf("%d events, %+v, %v", len(taken), status, err)
	}
	for id, n := range taken {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}
