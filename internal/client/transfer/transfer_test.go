package transfer

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// move transfers everything of a key.
func move(t testing.TB, id client.Identity, from, to []string, change func(*Transfer)) Report {
	t.Helper()
	peers := map[string]*Peer{}
	make := func(urls []string) (out []*Peer) {
		for _, url := range urls {
			if peers[url] == nil {
				peers[url] = peerFor(t, id, url, nil)
			}
			out = append(out, peers[url])
		}
		return out
	}
	tr := Transfer{Sources: make(from), Targets: make(to), Filters: EverythingOf(id.PubKey(), 0), Clock: time.Now}
	if change != nil {
		change(&tr)
	}
	report, err := tr.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// shown returns everything that a key sees at a relay: the ids of current and
// of superseded events, oldest first.
func shown(t testing.TB, id client.Identity, url string) (current, past []string) {
	t.Helper()
	p := peerFor(t, id, url, nil)
	for _, f := range EverythingOf(id.PubKey(), 0) {
		if _, err := p.Pages(t.Context(), f, func(ev *nostr.Event) error { current = append(current, ev.ID); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range memoryKinds {
		f := nostr.Filter{Kinds: []int{kind}, Authors: []string{id.PubKey()}}
		_, err := p.History(t.Context(), f, func(ev *nostr.Event) error { past = append(past, ev.ID); return nil })
		if err != nil && !errors.Is(err, client.ErrNoHistory) {
			t.Fatal(err)
		}
	}
	slices.Sort(current)
	slices.Sort(past)
	return slices.Compact(current), slices.Compact(past)
}

func mustBeAlike(t testing.TB, id client.Identity, a, b string) {
	t.Helper()
	currentA, pastA := shown(t, id, a)
	currentB, pastB := shown(t, id, b)
	if !slices.Equal(currentA, currentB) || !slices.Equal(pastA, pastB) {
		t.Errorf("%d and %d current, %d and %d past", len(currentA), len(currentB), len(pastA), len(pastB))
	}
}

// signed returns a signed event of a named key.
func signed(t testing.TB, name string, kind int, at int64, content string, tags ...nostr.Tag) *nostr.Event {
	t.Helper()
	ev := &nostr.Event{Kind: kind, CreatedAt: nostr.Timestamp(at), Content: content, Tags: tags}
	if err := who(t, name).Sign(ev); err != nil {
		t.Fatal(err)
	}
	return ev
}

// agentLife returns what an agent wrote: slugs with several versions, a removed
// and a deleted one, and its list of relays.
func agentLife(t testing.TB, now int64) []*nostr.Event {
	t.Helper()
	var out []*nostr.Event
	for i := range int64(12) {
		for v := range i%3 + 1 {
			slug := fmt.Sprintf("mem/%c", 'a'+i)
			out = append(out, clienttest.EngramAt(t, "agent", "owner", nipae.Slug(slug), fmt.Sprintf("%s version %d", slug, v), now-500+10*i+v))
		}
	}
	gone := clienttest.EngramAt(t, "agent", "owner", "mem/gone", "x", now-300)
	return append(out, signed(t, "agent", 62, now-600, "", nostr.Tag{"relay", "ALL_RELAYS"}), gone, clienttest.EngramAt(t, "agent", "owner", "core", "me", now-290),
		signed(t, "agent", 5, now-280, "", nostr.Tag{"a", fmt.Sprintf("30174:%s:%s", gone.PubKey, gone.Tags.GetD())}, nostr.Tag{"k", "30174"}),
		signed(t, "agent", 10002, now-270, "", nostr.Tag{"r", "wss://relay.example"}))
}

// An agent moves with its history, and a second transfer has nothing to do.
func TestTransfer(t *testing.T) {
	a, b := bridgetest.Start(t), bridgetest.Start(t)
	now := time.Now().Unix()
	put(t, []string{a.URL}, agentLife(t, now)...)
	agent := who(t, "agent")
	dry := move(t, agent, []string{a.URL}, []string{b.URL}, func(tr *Transfer) { tr.DryRun = true })
	report := move(t, agent, []string{a.URL}, []string{b.URL}, nil)
	got := report.Targets[0]
	if !got.UpToDate() || got.Lacked != 16 || got.Past != 12 || got.Sent != 28 || got.Newer != 0 || len(got.NotMoved) > 0 {
		t.Errorf("%+v", got)
	}
	if dry.Targets[0].Sent != got.Sent || !report.Sources[0].Whole() {
		t.Errorf("dry run: %+v, source %+v", dry.Targets[0], report.Sources[0])
	}
	mustBeAlike(t, agent, a.URL, b.URL)
	if again := move(t, agent, []string{a.URL}, []string{b.URL}, nil).Targets[0]; again.Lacked != 0 || again.Sent != 0 {
		t.Errorf("again: %+v", again)
	}
	// Later transfers send only what is new, and the owner may run them too.
	put(t, []string{a.URL}, clienttest.EngramAt(t, "agent", "owner", "mem/a", "later", now-100), clienttest.EngramAt(t, "agent", "owner", "mem/a", "latest", now-99))
	got = move(t, who(t, "owner"), []string{a.URL}, []string{b.URL}, nil).Targets[0]
	if !got.UpToDate() || got.Lacked != 1 || got.Sent != 2 || got.Past != 1 {
		t.Errorf("the owner: %+v", got)
	}
	mustBeAlike(t, agent, a.URL, b.URL)
}

// A target whose rate or whose bytes of an hour are used up is waited for: each
// event goes once there is room for it.
func TestTransferWaitsForTheRate(t *testing.T) {
	now := time.Now().Unix()
	var life []*nostr.Event
	for i := range int64(15) {
		life = append(life, clienttest.EngramAt(t, "agent", "owner", nipae.Slug(fmt.Sprintf("mem/%c", 'a'+i)), "x", now-500+i))
	}
	has := clienttest.StartHoard(t, &clienttest.Hoard{Events: life})
	target, refused := &clienttest.Hoard{}, map[string]bool{}
	var mu sync.Mutex
	limiting := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok; f, ok = c.Read() {
			mu.Lock()
			first := f.Label == wire.LabelEvent && !refused[f.Event.ID]
			if first {
				refused[f.Event.ID] = true
			}
			mu.Unlock()
			if first {
				c.Send(wire.AppendOK(nil, f.Event.ID, false, "rate-limited: one address may store 1048576 bytes an hour here; slow down"))
				continue
			}
			target.Answer(c, f)
		}
	}})
	got := move(t, who(t, "agent"), []string{has}, []string{limiting}, nil).Targets[0]
	if !got.UpToDate() || got.Sent != len(life) || target.Count() != len(life) || len(refused) != len(life) {
		t.Errorf("%+v; %d of %d arrived, %d were refused first", got, target.Count(), len(life), len(refused))
	}
}

// Among the events that a target accepted, older versions are counted; refused
// ones are not.
func TestTransferCountsOlderVersionsTaken(t *testing.T) {
	agent, now := who(t, "agent"), time.Now().Unix()
	var versions []*nostr.Event
	past := map[string]bool{}
	for i := range int64(3) {
		ev := clienttest.EngramAt(t, "agent", "owner", "mem/a", fmt.Sprint("version ", i), now-50+i)
		versions, past[ev.ID] = append(versions, ev), i < 2
	}
	for _, c := range []struct {
		dry                 bool
		refused, sent, past int // refused: of the versions, oldest first
	}{{false, 0, 3, 2}, {false, 1, 2, 1}, {false, 2, 1, 0}, {false, 3, 0, 0}, {true, 3, 3, 2}} {
		b := &syncing{refuse: func(ev *nostr.Event) string {
			if slices.ContainsFunc(versions[:c.refused], func(v *nostr.Event) bool { return v.ID == ev.ID }) {
				return "blocked: not this one"
			}
			return ""
		}}
		x := &transfer{Transfer: Transfer{DryRun: c.dry, Progress: func(string) {}}}
		got := Target{past: past}
		if err := x.send(t.Context(), peerFor(t, agent, startSyncing(t, b), nil), versions, &got); err != nil {
			t.Fatal(err)
		}
		if got.Sent != c.sent || got.Past != c.past || !c.dry && len(got.Refused) != c.refused {
			t.Errorf("%+v: %d taken, %d of them older, %d refused", c, got.Sent, got.Past, len(got.Refused))
		}
	}
}

// An event is not sent where the target has a newer version, and older versions
// that it lacks are reported; after both directions the relays are alike but
// for those.
func TestTransferBothWays(t *testing.T) {
	a, b := bridgetest.Start(t), bridgetest.Start(t)
	now := time.Now().Unix()
	agent := who(t, "agent")
	at := func(slug, text string, ago int64) *nostr.Event {
		return clienttest.EngramAt(t, "agent", "owner", nipae.Slug(slug), text, now-ago)
	}
	put(t, []string{a.URL}, at("mem/stale", "1", 90), at("mem/split", "1", 90), at("mem/split", "3", 70), at("mem/a", "a", 50))
	put(t, []string{b.URL}, at("mem/stale", "2", 80), at("mem/split", "2", 80), at("mem/b", "b", 50))
	both := []string{a.URL, b.URL}
	report := move(t, agent, both, both, nil)
	toA, toB := report.Targets[0], report.Targets[1]
	if !toA.UpToDate() || toA.Lacked != 3 || toA.Sent != 2 || toA.Newer != 1 || len(toA.NotMoved) != 0 {
		t.Errorf("to a: %+v", toA)
	}
	if !toB.UpToDate() || toB.Lacked != 3 || toB.Sent != 2 || toB.Newer != 1 || len(toB.NotMoved) != 1 || !strings.Contains(toB.NotMoved[0].Reason, "newer version") {
		t.Errorf("to b: %+v", toB)
	}
	for _, from := range report.Sources {
		if !from.Whole() {
			t.Errorf("%+v", from)
		}
	}
	currentA, _ := shown(t, agent, a.URL)
	currentB, _ := shown(t, agent, b.URL)
	if !slices.Equal(currentA, currentB) || len(currentA) != 4 {
		t.Errorf("%d and %d heads", len(currentA), len(currentB))
	}
}

// An event that its author deleted at the target counts neither as lacking nor
// as refused.
func TestTransferOfWhatIsDeletedThere(t *testing.T) {
	a, b := bridgetest.Start(t), bridgetest.Start(t)
	now := time.Now().Unix()
	gone := clienttest.EngramAt(t, "agent", "owner", "mem/gone", "x", now-300)
	put(t, []string{a.URL, b.URL}, gone)
	put(t, []string{b.URL}, signed(t, "agent", 5, now-280, "", nostr.Tag{"e", gone.ID}, nostr.Tag{"k", "30174"}))
	both := []string{a.URL, b.URL}
	agent := who(t, "agent")
	if got := move(t, agent, both[:1], both[1:], nil).Targets[0]; !got.UpToDate() || got.Lacked != 1 || got.Deleted != 1 || got.Sent != 0 {
		t.Errorf("%+v", got)
	}
	move(t, agent, both, both, nil)
	mustBeAlike(t, agent, a.URL, b.URL)
}

// Expired events, requests to vanish from another relay and refused events are
// counted apart.
func TestTransferLeavesOut(t *testing.T) {
	now := time.Now().Unix()
	expired := clienttest.EngramAt(t, "agent", "owner", "mem/e", "x", now-50)
	expired.Tags = append(expired.Tags, nostr.Tag{"expiration", "1700000000"})
	if err := who(t, "agent").Sign(expired); err != nil {
		t.Fatal(err)
	}
	bad := clienttest.EngramAt(t, "agent", "owner", "mem/bad", "x", now-40)
	from := &syncing{Hoard: clienttest.Hoard{Events: []*nostr.Event{expired, bad, clienttest.EngramAt(t, "agent", "owner", "mem/good", "x", now-40),
		signed(t, "agent", 62, now-60, "", nostr.Tag{"relay", "wss://elsewhere.example"}),
		signed(t, "agent", 62, now-90, "", nostr.Tag{"relay", "ALL_RELAYS"})}}}
	to := &syncing{refuse: func(ev *nostr.Event) string {
		if ev.ID == bad.ID {
			return "blocked: not this one"
		}
		return ""
	}}
	got := move(t, who(t, "agent"), []string{startSyncing(t, from)}, []string{startSyncing(t, to)}, nil).Targets[0]
	if got.UpToDate() || got.Sent != 2 || got.Expired != 1 || got.Others != 1 || len(got.Refused) != 1 ||
		got.Refused[0].Event.ID != bad.ID || got.Refused[0].Reason != "blocked: not this one" {
		t.Errorf("%+v", got)
	}
	if first := to.All()[0]; first.Kind != 62 {
		t.Errorf("kind %d came before the request to vanish", first.Kind)
	}
}

// The outcome is the same whatever the two relays support.
func TestTransferWithoutReconciling(t *testing.T) {
	now := time.Now().Unix()
	var shared, only []*nostr.Event
	for i := range int64(60) {
		shared = append(shared, clienttest.EngramAt(t, "agent", "owner", nipae.Slug(fmt.Sprintf("mem/s%d", i)), "x", now-900+i))
	}
	for i := range int64(7) {
		only = append(only, clienttest.EngramAt(t, "agent", "owner", nipae.Slug(fmt.Sprintf("mem/o%d", i)), "x", now-900+9*i))
	}
	for _, nips := range [][2]string{{"[77]", "[77]"}, {"[1]", "[77]"}, {"[77]", "[1]"}, {"[1]", "[1]"}} {
		from := &syncing{nips: nips[0], Hoard: clienttest.Hoard{Events: slices.Concat(shared, only), Most: 25}}
		to := &syncing{nips: nips[1], Hoard: clienttest.Hoard{Events: slices.Clone(shared), Most: 25}}
		report := move(t, who(t, "agent"), []string{startSyncing(t, from)}, []string{startSyncing(t, to)}, nil)
		if got := report.Targets[0]; !got.UpToDate() || got.Lacked != 7 || got.Sent != 7 || to.Count() != 67 {
			t.Errorf("%v: %+v, %d there", nips, got, to.Count())
		}
		if !report.Sources[0].Whole() {
			t.Errorf("%v: %+v", nips, report.Sources[0])
		}
	}
}

// When two sources have different versions, both go to a relay that keeps
// history.
func TestTransferFromTwoVersions(t *testing.T) {
	a, b, to := bridgetest.Start(t), bridgetest.Start(t), bridgetest.Start(t)
	now := time.Now().Unix()
	put(t, []string{a.URL}, clienttest.EngramAt(t, "agent", "owner", "mem/a", "1", now-50))
	put(t, []string{b.URL}, clienttest.EngramAt(t, "agent", "owner", "mem/a", "2", now-40))
	if got := move(t, who(t, "agent"), []string{a.URL, b.URL}, []string{to.URL}, nil).Targets[0]; !got.UpToDate() || got.Sent != 2 || len(got.NotMoved) != 0 {
		t.Errorf("%+v", got)
	}
}

// A target that refuses to show history, perhaps a proxy in front of it, gets
// the current events. A source that refuses is reported as incomplete.
func TestTransferWithRefusedHistory(t *testing.T) {
	now := time.Now().Unix()
	mine := []*nostr.Event{clienttest.EngramAt(t, "agent", "owner", "mem/a", "1", now-50), clienttest.EngramAt(t, "agent", "owner", "mem/a", "2", now-40)}
	for _, status := range []int{http.StatusForbidden, http.StatusBadGateway} {
		from, to := &syncing{Hoard: clienttest.Hoard{Events: mine[1:]}, past: mine[:1]}, &syncing{refusesPast: status}
		urls := []string{startSyncing(t, from), startSyncing(t, to)}
		report := move(t, who(t, "agent"), urls[:1], urls[1:], nil)
		if got := report.Targets[0]; !got.UpToDate() || got.Sent != 1 || to.Count() != 1 || len(got.NotMoved) != 1 || len(report.Notes) != 1 || !report.Sources[0].Whole() {
			t.Errorf("%d: %+v", status, report)
		}
		if back := move(t, who(t, "agent"), urls[1:], urls[:1], nil); back.Sources[0].Whole() || !back.Targets[0].UpToDate() {
			t.Errorf("%d, as the source: %+v", status, back)
		}
	}
}

// A source that fails to tell the order of one contract is not asked for others.
func TestTransferAsksForOrdersOnce(t *testing.T) {
	from, to := &syncing{past: []*nostr.Event{}}, &syncing{}
	for i := range 9 {
		from.Put(signed(t, "agent", niptemp.KindEntry, time.Now().Unix()-50, `{"type":"message","content":"x"}`,
			nostr.Tag{"d", fmt.Sprintf("0f8fad5b-d9cb-469f-a165-7086772895%02x", i)}, nostr.Tag{"t", "message"}, nostr.Tag{"p", who(t, "worker").PubKey()}))
	}
	report := move(t, who(t, "agent"), []string{startSyncing(t, from)}, []string{startSyncing(t, to)}, nil)
	if got := report.Targets[0]; !got.UpToDate() || got.Sent != 9 || from.orders != 1 || len(report.Notes) != 1 {
		t.Errorf("asked %d times: %+v", from.orders, report)
	}
}

// What is held of one relay is bounded in total, whichever way it arrived.
func TestTransferBoundsAllThatIsKept(t *testing.T) {
	now := time.Now().Unix()
	from := &syncing{past: []*nostr.Event{}}
	for i := range int64(5) {
		slug := nipae.Slug(fmt.Sprintf("mem/%d", i))
		from.past = append(from.past, clienttest.EngramAt(t, "agent", "owner", slug, "1", now-90))
		from.Put(clienttest.EngramAt(t, "agent", "owner", slug, "2", now-50))
	}
	url, to := startSyncing(t, from), startSyncing(t, &syncing{past: []*nostr.Event{}})
	for most, want := range map[int]error{10: nil, 9: client.ErrMisbehaved} {
		p := peerFor(t, who(t, "agent"), url, func(o *client.Options) { o.Limits.Events = most })
		report := move(t, who(t, "agent"), nil, []string{to}, func(tr *Transfer) { tr.Sources, tr.DryRun = []*Peer{p}, true })
		if err := report.Sources[0].Err; !errors.Is(err, want) {
			t.Errorf("%d: %v", most, err)
		}
	}
}

// An event whose time NIP-77 cannot express keeps no other from being sent.
func TestTransferOfAnImpossibleTime(t *testing.T) {
	good := clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", time.Now().Unix()-40)
	odd := signed(t, "stranger", nipae.Kind, math.MaxInt64, "x", nostr.Tag{"d", "x"}, nostr.Tag{"p", who(t, "owner").PubKey()})
	from, to := &syncing{nips: "[1]", Hoard: clienttest.Hoard{Events: []*nostr.Event{odd, good}}}, &syncing{}
	report := move(t, who(t, "owner"), []string{startSyncing(t, from)}, []string{startSyncing(t, to)}, nil)
	if got := report.Targets[0]; !got.UpToDate() || got.Sent != 1 || !report.Sources[0].Whole() || len(report.Notes) != 1 {
		t.Errorf("%+v", report)
	}
}

// Relays that lie are bounded and named, and none of their events is sent on.
func TestTransferWithLiars(t *testing.T) {
	now := time.Now().Unix()
	mine := []*nostr.Event{clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", now-40), clienttest.EngramAt(t, "agent", "owner", "mem/b", "x", now-40)}
	forged := *mine[1]
	forged.Sig = mine[0].Sig
	for name, tt := range map[string]struct {
		from *syncing
		sent int
		bad  func(Source) bool
	}{
		"does not deliver": {&syncing{Hoard: clienttest.Hoard{Events: mine}, hide: func(ev *nostr.Event) bool { return ev.ID == mine[0].ID }}, 1,
			func(s Source) bool { return s.Missing == 1 }},
		"a wrong signature": {&syncing{Hoard: clienttest.Hoard{Events: []*nostr.Event{mine[0], &forged}}}, 1,
			func(s Source) bool { return s.Missing == 1 }},
		"a wrong signature, in pages": {&syncing{nips: "[]", Hoard: clienttest.Hoard{Events: []*nostr.Event{mine[0], &forged}}}, 1,
			func(s Source) bool { return s.Rejected > 0 }},
		"rubbish": {&syncing{Hoard: clienttest.Hoard{Events: mine}, said: func(int, []byte) []byte { return []byte{0x61, 0xff, 0xff} }}, 0,
			func(s Source) bool { return errors.Is(s.Err, client.ErrMisbehaved) }},
	} {
		to := &syncing{}
		report := move(t, who(t, "agent"), []string{startSyncing(t, tt.from)}, []string{startSyncing(t, to)}, nil)
		if s := report.Sources[0]; !tt.bad(s) || s.Whole() || to.Count() != tt.sent {
			t.Errorf("%s: %+v, %d sent", name, s, to.Count())
		}
	}
	// A history that contains another author's event is not used.
	latest := clienttest.EngramAt(t, "agent", "owner", "mem/a", "new", now-10)
	others := signed(t, "agent", nipae.Kind, now-60, "x", nostr.Tag{"d", latest.Tags.GetD()}, nostr.Tag{"p", who(t, "stranger").PubKey()})
	leaking := &syncing{Hoard: clienttest.Hoard{Events: []*nostr.Event{latest}}, past: append([]*nostr.Event{others}, mine...)}
	keeping := &syncing{past: []*nostr.Event{}}
	told := move(t, who(t, "owner"), []string{startSyncing(t, leaking)}, []string{startSyncing(t, keeping)}, nil)
	if told.Sources[0].Whole() || told.Sources[0].Rejected != 1 || keeping.Count() != 2 || slices.ContainsFunc(keeping.All(), func(ev *nostr.Event) bool { return ev.ID == others.ID }) {
		t.Errorf("%+v, %d sent", told.Sources[0], keeping.Count())
	}
	// Two relays whose reconciliation does not end are read in full.
	endless := &syncing{Hoard: clienttest.Hoard{Events: mine}, said: func(n int, _ []byte) []byte {
		return append([]byte{0x61, 0, 0, 1, byte(n), byte(n >> 8)}, make([]byte, 14)...)
	}}
	url, to := startSyncing(t, endless), &syncing{}
	report := move(t, who(t, "agent"), []string{url}, []string{startSyncing(t, to)}, nil)
	if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], url) || to.Count() != 2 {
		t.Errorf("%q, %d sent", report.Notes, to.Count())
	}
}

// A relay that is down, as source and as target.
func TestTransferWithRelaysThatAreDown(t *testing.T) {
	now := time.Now().Unix()
	down := bridgetest.Down(t)
	has := clienttest.StartHoard(t, &clienttest.Hoard{Events: []*nostr.Event{clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", now-40)}})
	empty := &clienttest.Hoard{}
	report := move(t, who(t, "agent"), []string{down, has}, []string{clienttest.StartHoard(t, empty), down}, nil)
	if report.Sources[0].Err == nil || !report.Sources[1].Whole() || !report.Targets[0].UpToDate() || empty.Count() != 1 || report.Targets[1].Err == nil {
		t.Errorf("%+v", report)
	}
}

// Two keys' moves within one second keep their order, whatever their ids are
// and though no relay tells the order of arrival.
func TestTransferOfMovesInOneSecond(t *testing.T) {
	now := time.Now().Unix()
	from, to := bridgetest.Start(t), bridgetest.Start(t)
	state := func(name, other, status, previous, contract string) *nostr.Event {
		return signed(t, name, niptemp.KindState, now-50, fmt.Sprintf(`{"contract_id":%q,"status":%q,"previous_status":%q,"poster_agent_id":"a","worker_agent_id":"w",`+
			`"amount_sats":1,"description":"x","transition_at":"2026-11-22T12:00:00Z"}`, contract, status, previous),
			nostr.Tag{"d", contract}, nostr.Tag{"p", who(t, other).PubKey()})
	}
	for i := range 8 { // some of them have ids in the wrong order
		id := fmt.Sprintf("0f8fad5b-d9cb-469f-a165-7086772895%02x", i)
		put(t, []string{from.URL}, state("agent", "worker", "open", "", id), state("worker", "agent", "accepted", "open", id))
	}
	if got := move(t, who(t, "worker"), []string{from.URL}, []string{to.URL}, nil).Targets[0]; !got.UpToDate() || got.Sent != 16 {
		t.Errorf("%+v", got)
	}
	mustBeAlike(t, who(t, "agent"), from.URL, to.URL)
}

// Another key's events of a contract are sent only where strangers are refused.
func TestTransferOfContracts(t *testing.T) {
	now := time.Now().Unix()
	id := "0f8fad5b-d9cb-469f-a165-70867728950e"
	entry := func(name, other, text string, ago int64) *nostr.Event {
		return signed(t, name, niptemp.KindEntry, now-ago, fmt.Sprintf(`{"type":"message","content":%q}`, text),
			nostr.Tag{"d", id}, nostr.Tag{"t", "message"}, nostr.Tag{"p", who(t, other).PubKey()})
	}
	events := []*nostr.Event{entry("agent", "worker", "one", 50), entry("worker", "agent", "two", 40), entry("agent", "worker", "three", 30), entry("worker", "agent", "four", 20)}
	from := bridgetest.Start(t)
	put(t, []string{from.URL}, events...)
	open := &clienttest.Hoard{}
	got := move(t, who(t, "agent"), []string{from.URL}, []string{clienttest.StartHoard(t, open)}, nil).Targets[0]
	if got.UpToDate() || got.Sent != 1 || open.Count() != 1 || open.Last().PubKey != who(t, "agent").PubKey() || len(got.Refused) != 1 {
		t.Errorf("%+v", got)
	}
	gated := bridgetest.Start(t)
	got = move(t, who(t, "agent"), []string{from.URL}, []string{gated.URL}, nil).Targets[0]
	if !got.UpToDate() || got.Sent != 4 || got.Past != 2 {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"agent", "worker"} {
		mustBeAlike(t, who(t, name), from.URL, gated.URL)
	}
}
