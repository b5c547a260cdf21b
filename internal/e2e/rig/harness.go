package rig

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// raceVar set to 1 gives the relays of tests that watch for races the race detector.
const raceVar = "ENGRAMD_RACE"

// Watched is the binary of tests that write and read at a time.
var Watched = relaytest.Build{Race: os.Getenv(raceVar) == "1"}

// Plain is the binary as shipped, for tests that measure.
var Plain = relaytest.Build{}

// Exclude makes the relay serve filters without kinds (gate.wildcard).
const Exclude = "ENGRAMD_GATE_WILDCARD=exclude"

// AllowRestore lets snapshots be restored.
const AllowRestore = "ENGRAMD_RESTORE_ALLOW=true"

// Start runs a relay for this test.
func Start(t *testing.T, env ...string) *relaytest.Child {
	t.Helper()
	return relaytest.Start(t, relaytest.Options{Build: Watched, Env: env})
}

// Again starts a relay on the data of one that has ended.
func Again(t *testing.T, c *relaytest.Child, env ...string) *relaytest.Child {
	t.Helper()
	return relaytest.Start(t, relaytest.Options{Build: Watched, Data: c.Data, Env: env})
}

// Peer is a client whose failures end the test. Use it on the test's own
// goroutine only.
type Peer struct {
	*relaytest.Client
	T *testing.T
}

// Dial connects a peer and proves the keys.
func Dial(t *testing.T, c *relaytest.Child, keys ...relaytest.Key) *Peer {
	t.Helper()
	cl, err := relaytest.Dial(c.URL)
	if err != nil {
		t.Fatalf("dial: %v\n%s", err, c.Log.Text())
	}
	return peer(t, cl, keys)
}

// DialAt connects a peer to a relay of whatever process, and proves the keys.
func DialAt(t *testing.T, url string, keys ...relaytest.Key) *Peer {
	t.Helper()
	cl, err := relaytest.Dial(url)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	return peer(t, cl, keys)
}

func peer(t *testing.T, cl *relaytest.Client, keys []relaytest.Key) *Peer {
	t.Helper()
	t.Cleanup(cl.Close)
	p := &Peer{Client: cl, T: t}
	for _, k := range keys {
		if err := cl.Auth(k); err != nil {
			t.Fatalf("auth: %v", err)
		}
	}
	return p
}

// MustSend writes ["label", args…].
func (p *Peer) MustSend(label string, args ...any) {
	p.T.Helper()
	if err := p.Send(label, args...); err != nil {
		p.T.Fatalf("send %s: %v", label, err)
	}
}

// Raw writes text as it is.
func (p *Peer) Raw(text string) {
	p.T.Helper()
	if err := p.SendRaw([]byte(text)); err != nil {
		p.T.Fatalf("send %.80q: %v", text, err)
	}
}

// MustNext takes the next frame of any kind.
func (p *Peer) MustNext() relaytest.Frame {
	p.T.Helper()
	f, err := p.Next()
	if err != nil {
		p.T.Fatalf("next frame: %v", err)
	}
	return f
}

// Expect takes the next frame and wants this label.
func (p *Peer) Expect(label string) relaytest.Frame {
	p.T.Helper()
	f := p.MustNext()
	if f.Label != label {
		p.T.Fatalf("got %s, want %s", f.Raw, label)
	}
	return f
}

// MustPublish returns the answer to an event.
func (p *Peer) MustPublish(ev *nostr.Event) relaytest.OK {
	p.T.Helper()
	ok, err := p.Publish(ev)
	if err != nil {
		p.T.Fatalf("publish kind %d: %v", ev.Kind, err)
	}
	return ok
}

// Store publishes events that must be accepted as new.
func (p *Peer) Store(evs ...*nostr.Event) {
	p.T.Helper()
	for _, ev := range evs {
		if ok := p.MustPublish(ev); !ok.True || ok.Message != "" {
			p.T.Fatalf("publish kind %d: OK %v %q, want true and no message", ev.Kind, ok.True, ok.Message)
		}
	}
}

// Refused publishes an event that must be refused with this prefix.
func (p *Peer) Refused(ev *nostr.Event, prefix string) {
	p.T.Helper()
	ok := p.MustPublish(ev)
	WantRefusal(p.T, fmt.Sprintf("kind %d", ev.Kind), ok, prefix)
}

func WantRefusal(t *testing.T, what string, ok relaytest.OK, prefix string) {
	t.Helper()
	if ok.True || !HasPrefix(ok.Message, prefix) {
		t.Errorf("%s: OK %v %q, want false %q", what, ok.True, ok.Message, prefix)
	}
}

// HasPrefix says whether text is prefix followed by something, as in
// "invalid: because".
func HasPrefix(text, prefix string) bool {
	return len(text) > len(prefix) && text[:len(prefix)] == prefix
}

// MustSubscribe sends a REQ that stays open and returns what is stored.
func (p *Peer) MustSubscribe(filters ...any) relaytest.Answer {
	p.T.Helper()
	a, err := p.Subscribe(p.NextSub(), filters...)
	if err != nil {
		p.T.Fatalf("subscribe: %v", err)
	}
	return a
}

// MustQuery sends a REQ, wants EOSE and closes it.
func (p *Peer) MustQuery(filters ...any) relaytest.Answer {
	p.T.Helper()
	a, err := p.Query(filters...)
	if err != nil {
		p.T.Fatalf("query: %v", err)
	}
	if !a.EOSE {
		p.T.Fatalf("query %v: CLOSED %q, want EOSE", filters, a.Closed)
	}
	return a
}

// Closed sends a REQ and wants CLOSED with this prefix.
func (p *Peer) Closed(prefix string, filters ...any) {
	p.T.Helper()
	a, err := p.Query(filters...)
	if err != nil {
		p.T.Fatalf("query: %v", err)
	}
	if a.EOSE || len(a.Events) > 0 || !HasPrefix(a.Closed, prefix) {
		p.T.Errorf("query %v: %d events, CLOSED %q, EOSE %v; want CLOSED %q", filters, len(a.Events), a.Closed, a.EOSE, prefix)
	}
}

// MustCount wants a number.
func (p *Peer) MustCount(filters ...any) int64 {
	p.T.Helper()
	n, closed, err := p.Count(filters...)
	if err != nil {
		p.T.Fatalf("count: %v", err)
	}
	if closed != "" {
		p.T.Fatalf("count %v: CLOSED %q", filters, closed)
	}
	return n
}

// MustLive takes the next event of an open subscription.
func (p *Peer) MustLive(sub string) *nostr.Event {
	p.T.Helper()
	ev, err := p.Live(sub)
	if err != nil {
		p.T.Fatalf("live event of %s: %v", sub, err)
	}
	return ev
}

// IDs names events.
func IDs(evs ...*nostr.Event) []string {
	out := make([]string, len(evs))
	for i, ev := range evs {
		out[i] = ev.ID
	}
	return out
}

// SortNewestFirst is the order of every answer: created_at descending, ties by
// lowest id.
func SortNewestFirst(evs []*nostr.Event) {
	slices.SortFunc(evs, func(a, b *nostr.Event) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
}

// NewestFirst names events in the order of an answer.
func NewestFirst(evs ...*nostr.Event) []string {
	SortNewestFirst(evs)
	return IDs(evs...)
}

// WantIDs compares an answer with the events that it must hold, in order.
func WantIDs(t *testing.T, what string, got, want []string) {
	t.Helper()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == want[i]
	}
	if !same {
		t.Errorf("%s: got %d events %v, want %d %v", what, len(got), Short(got), len(want), Short(want))
	}
}

// Short is ids as a failure shows them.
func Short(ids []string) []string {
	out := make([]string, 0, min(len(ids), 12))
	for i, id := range ids {
		if i == 12 {
			return append(out, "…")
		}
		out = append(out, id[:min(8, len(id))])
	}
	return out
}

// Now is the time in seconds.
func Now() int64 { return time.Now().Unix() }

// ByID is the filter for these events.
func ByID(evs ...*nostr.Event) relaytest.Filter {
	return relaytest.Filter{"ids": IDs(evs...)}
}

// Tag is a shorter way to write a tag.
func Tag(values ...string) nostr.Tag { return nostr.Tag(values) }
