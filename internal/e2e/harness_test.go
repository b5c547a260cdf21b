package e2e

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(hostileName); name != "" {
		os.Exit(beHostile(name, os.Getenv(hostileURL)))
	}
	os.Exit(relaytest.Tests{M: m}.Run())
}

// watched is the binary most tests run: with the race detector when the tests
// have it.
var watched = relaytest.Build{Race: raceEnabled}

// plain is the binary as shipped, for tests that measure.
var plain = relaytest.Build{}

// exclude makes the relay serve filters without kinds (gate.wildcard).
const exclude = "ENGRAMD_GATE_WILDCARD=exclude"

// start runs a relay for this test.
func start(t *testing.T, env ...string) *relaytest.Child {
	t.Helper()
	return relaytest.Start(t, relaytest.Options{Build: watched, Env: env})
}

// again starts a relay on the data of one that has ended.
func again(t *testing.T, c *relaytest.Child, env ...string) *relaytest.Child {
	t.Helper()
	return relaytest.Start(t, relaytest.Options{Build: watched, Data: c.Data, Env: env})
}

// peer is a client whose failures end the test. Use it on the test's own
// goroutine only.
type peer struct {
	*relaytest.Client
	t *testing.T
}

// dial connects a peer and proves the keys.
func dial(t *testing.T, c *relaytest.Child, keys ...relaytest.Key) *peer {
	t.Helper()
	cl, err := relaytest.Dial(c.URL)
	if err != nil {
		t.Fatalf("dial: %v\n%s", err, c.Log.Text())
	}
	t.Cleanup(cl.Close)
	p := &peer{Client: cl, t: t}
	for _, k := range keys {
		if err := cl.Auth(k); err != nil {
			t.Fatalf("auth: %v", err)
		}
	}
	return p
}

// send writes ["label", args…].
func (p *peer) send(label string, args ...any) {
	p.t.Helper()
	if err := p.Send(label, args...); err != nil {
		p.t.Fatalf("send %s: %v", label, err)
	}
}

// raw writes text as it is.
func (p *peer) raw(text string) {
	p.t.Helper()
	if err := p.SendRaw([]byte(text)); err != nil {
		p.t.Fatalf("send %.80q: %v", text, err)
	}
}

// next takes the next frame of any kind.
func (p *peer) next() relaytest.Frame {
	p.t.Helper()
	f, err := p.Next()
	if err != nil {
		p.t.Fatalf("next frame: %v", err)
	}
	return f
}

// expect takes the next frame and wants this label.
func (p *peer) expect(label string) relaytest.Frame {
	p.t.Helper()
	f := p.next()
	if f.Label != label {
		p.t.Fatalf("got %s, want %s", f.Raw, label)
	}
	return f
}

// publish returns the answer to an event.
func (p *peer) publish(ev *nostr.Event) relaytest.OK {
	p.t.Helper()
	ok, err := p.Publish(ev)
	if err != nil {
		p.t.Fatalf("publish kind %d: %v", ev.Kind, err)
	}
	return ok
}

// store publishes events that must be accepted as new.
func (p *peer) store(evs ...*nostr.Event) {
	p.t.Helper()
	for _, ev := range evs {
		if ok := p.publish(ev); !ok.True || ok.Message != "" {
			p.t.Fatalf("publish kind %d: OK %v %q, want true and no message", ev.Kind, ok.True, ok.Message)
		}
	}
}

// refused publishes an event that must be refused with this prefix.
func (p *peer) refused(ev *nostr.Event, prefix string) {
	p.t.Helper()
	ok := p.publish(ev)
	wantRefusal(p.t, fmt.Sprintf("kind %d", ev.Kind), ok, prefix)
}

func wantRefusal(t *testing.T, what string, ok relaytest.OK, prefix string) {
	t.Helper()
	if ok.True || !hasPrefix(ok.Message, prefix) {
		t.Errorf("%s: OK %v %q, want false %q", what, ok.True, ok.Message, prefix)
	}
}

// hasPrefix says whether text is prefix followed by something, as in
// "invalid: because".
func hasPrefix(text, prefix string) bool {
	return len(text) > len(prefix) && text[:len(prefix)] == prefix
}

// subscribe sends a REQ that stays open and returns what is stored.
func (p *peer) subscribe(filters ...any) relaytest.Answer {
	p.t.Helper()
	a, err := p.Subscribe(p.NextSub(), filters...)
	if err != nil {
		p.t.Fatalf("subscribe: %v", err)
	}
	return a
}

// query sends a REQ, wants EOSE and closes it.
func (p *peer) query(filters ...any) relaytest.Answer {
	p.t.Helper()
	a, err := p.Query(filters...)
	if err != nil {
		p.t.Fatalf("query: %v", err)
	}
	if !a.EOSE {
		p.t.Fatalf("query %v: CLOSED %q, want EOSE", filters, a.Closed)
	}
	return a
}

// closed sends a REQ and wants CLOSED with this prefix.
func (p *peer) closed(prefix string, filters ...any) {
	p.t.Helper()
	a, err := p.Query(filters...)
	if err != nil {
		p.t.Fatalf("query: %v", err)
	}
	if a.EOSE || len(a.Events) > 0 || !hasPrefix(a.Closed, prefix) {
		p.t.Errorf("query %v: %d events, CLOSED %q, EOSE %v; want CLOSED %q", filters, len(a.Events), a.Closed, a.EOSE, prefix)
	}
}

// count wants a number.
func (p *peer) count(filters ...any) int64 {
	p.t.Helper()
	n, closed, err := p.Count(filters...)
	if err != nil {
		p.t.Fatalf("count: %v", err)
	}
	if closed != "" {
		p.t.Fatalf("count %v: CLOSED %q", filters, closed)
	}
	return n
}

// live takes the next event of an open subscription.
func (p *peer) live(sub string) *nostr.Event {
	p.t.Helper()
	ev, err := p.Live(sub)
	if err != nil {
		p.t.Fatalf("live event of %s: %v", sub, err)
	}
	return ev
}

// ids names events.
func ids(evs ...*nostr.Event) []string {
	out := make([]string, len(evs))
	for i, ev := range evs {
		out[i] = ev.ID
	}
	return out
}

// sortNewestFirst is the order of every answer: created_at descending, ties by
// lowest id.
func sortNewestFirst(evs []*nostr.Event) {
	slices.SortFunc(evs, func(a, b *nostr.Event) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.ID, b.ID))
	})
}

// newestFirst names events in the order of an answer.
func newestFirst(evs ...*nostr.Event) []string {
	sortNewestFirst(evs)
	return ids(evs...)
}

// wantIDs compares an answer with the events that it must hold, in order.
func wantIDs(t *testing.T, what string, got, want []string) {
	t.Helper()
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == want[i]
	}
	if !same {
		t.Errorf("%s: got %d events %v, want %d %v", what, len(got), short(got), len(want), short(want))
	}
}

func short(ids []string) []string {
	out := make([]string, 0, min(len(ids), 12))
	for i, id := range ids {
		if i == 12 {
			return append(out, "…")
		}
		out = append(out, id[:min(8, len(id))])
	}
	return out
}

// now is the time in seconds.
func now() int64 { return time.Now().Unix() }

// byID is the filter for these events.
func byID(evs ...*nostr.Event) relaytest.Filter {
	return relaytest.Filter{"ids": ids(evs...)}
}

// tag is a shorter way to write a tag.
func tag(values ...string) nostr.Tag { return nostr.Tag(values) }
