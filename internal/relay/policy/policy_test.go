package policy

import (
	"context"
	"encoding/base64"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
)

const (
	agentKey    = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1"
	ownerKey    = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb2"
	strangerKey = "ccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc3"
	dTag        = "ddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd4"
)

// start is the time of every test's clock.
var start = time.Unix(1_700_000_000, 0)

func clockAt(at time.Time) func() time.Time { return func() time.Time { return at } }

func mustPolicy(t testing.TB, o Options) *Policy {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clockAt(start)
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func note(author string, tags ...nostr.Tag) *nostr.Event {
	return &nostr.Event{Kind: 1, PubKey: author, CreatedAt: nostr.Timestamp(start.Unix()), Tags: tags}
}

func sealed() string {
	return base64.StdEncoding.EncodeToString(append([]byte{2}, make([]byte, 98)...))
}

func engram(author, owner string, tags ...nostr.Tag) *nostr.Event {
	ev := note(author, append(nostr.Tags{{"d", dTag}, {"p", owner}}, tags...)...)
	ev.Kind, ev.Content = 30174, sealed()
	return ev
}

func withKind(kind int, ev *nostr.Event) *nostr.Event {
	ev.Kind = kind
	return ev
}

// check runs the policy and compares the message: equal to want where want is
// empty, else beginning with it.
func check(t *testing.T, p interface {
	RejectEvent(context.Context, *nostr.Event) (bool, string)
}, ev *nostr.Event, want string) {
	t.Helper()
	rejected, msg := p.RejectEvent(context.Background(), ev)
	if rejected != (want != "") || !strings.HasPrefix(msg, want) || !rejected && msg != "" {
		t.Errorf("kind %d: %v, %q, want %q", ev.Kind, rejected, msg, want)
	}
	for _, private := range []string{agentKey, ownerKey, strangerKey, dTag} {
		if strings.Contains(msg, private) {
			t.Errorf("%q repeats what it must not", msg)
		}
	}
}

func TestEverybodyMayWriteByDefault(t *testing.T) {
	p := mustPolicy(t, Options{})
	for _, ev := range []*nostr.Event{
		note(strangerKey), engram(agentKey, ownerKey), withKind(0, note(agentKey)), withKind(65535, note(agentKey)),
		withKind(20001, note(agentKey)), withKind(5, note(agentKey, nostr.Tag{"e", dTag})),
	} {
		check(t, p, ev, "")
	}
	old := note(agentKey)
	old.CreatedAt = 0
	check(t, p, old, "")
}

func TestMalformed(t *testing.T) {
	p := mustPolicy(t, Options{})
	bad := engram(agentKey, ownerKey, nostr.Tag{"p"})
	check(t, p, bad, "invalid: not an engram: it must have exactly one p tag, not 2")
	bad = engram(agentKey, ownerKey)
	bad.Content = "plain text"
	check(t, p, bad, "invalid: not an engram: content is not a NIP-44 v2 payload")

	entry := withKind(30090, note(agentKey, nostr.Tag{"d", "c"}, nostr.Tag{"t", "note"}, nostr.Tag{"p", ownerKey}))
	entry.Content = `{"type":"note","content":"x"}`
	check(t, p, entry, "")
	entry.Content = `{"type":"note","content":"x","visibility":"worker_only"}`
	check(t, p, entry, "invalid: private entries are not published")

	state := withKind(30091, note(agentKey, nostr.Tag{"d", "c"}, nostr.Tag{"p", ownerKey}))
	state.Content = `{"contract_id":"c","status":"open"}`
	check(t, p, state, "")
	state.Content = `{"contract_id":"c","status":"done"}`
	check(t, p, state, "invalid: content field")
}

func TestTooManyTags(t *testing.T) {
	tagged := func(n int) *nostr.Event { return &nostr.Event{Kind: 3, Tags: make(nostr.Tags, n)} }
	for _, tt := range []struct {
		most, tags int
		refused    bool
	}{{0, 5000, false}, {4, 4, false}, {4, 5, true}} {
		p, err := New(Options{MaxTags: tt.most})
		if err != nil {
			t.Fatal(err)
		}
		if refused, msg := p.rejectTagged(context.Background(), tagged(tt.tags)); refused != tt.refused || refused && !strings.HasPrefix(msg, "invalid: ") {
			t.Errorf("%d tags of at most %d: %v %q", tt.tags, tt.most, refused, msg)
		}
	}
}

// TestContractMemoryDoesNotExpire: a tag that says so is refused, and has no
// effect in what is imported.
func TestContractMemoryDoesNotExpire(t *testing.T) {
	const want = "invalid: contract memory does not expire: leave the expiration tag out"
	for _, value := range []string{"1700000001", "1", "never"} {
		for kind, content := range map[int]string{30090: `{"type":"note","content":"x"}`, 30091: `{"contract_id":"c","status":"open"}`} {
			ev := note(agentKey, nostr.Tag{"d", "c"}, nostr.Tag{"t", "note"}, nostr.Tag{"p", agentKey}, nostr.Tag{"expiration", value})
			ev.Kind, ev.Content = kind, content
			check(t, mustPolicy(t, Options{}), ev, want)
			check(t, mustPolicy(t, Options{Import: true}), ev, "")
		}
	}
}

func TestExpired(t *testing.T) {
	p, imports := mustPolicy(t, Options{}), mustPolicy(t, Options{Import: true})
	const over, noTime = "invalid: the event has expired", "invalid: the expiration tag holds no time: give unix seconds, or leave it out"
	for value, want := range map[string]string{
		"1700000001": "", "1700000000": over, "1": over,
		"": noTime, "soon": noTime, "-5": noTime, "0": noTime, "1e9": noTime, "99999999999999999999": noTime,
	} {
		ev := note(agentKey, nostr.Tag{"expiration", value})
		check(t, p, ev, want)
		check(t, imports, ev, strings.TrimPrefix(want, noTime))
	}
	check(t, p, note(agentKey, nostr.Tag{"expiration"}, nostr.Tag{"expiration", "1"}), noTime)
	check(t, p, note(agentKey, nostr.Tag{"expiration", "1800000000"}, nostr.Tag{"expiration", "1"}), "")
}

// What a clock that is not confirmed refuses may come again.
func TestTimesByAClockThatIsNotConfirmed(t *testing.T) {
	believed := true
	p := mustPolicy(t, Options{Confirmed: func() bool { return believed }})
	for name, ev := range map[string]*nostr.Event{
		"expired": {Kind: 1, CreatedAt: nostr.Timestamp(start.Unix()), Tags: nostr.Tags{{"expiration", "1600000000"}}},
		"ahead":   {Kind: 1, CreatedAt: nostr.Timestamp(start.Unix() + 3600)},
	} {
		for _, believed = range []bool{true, false} {
			prefix := map[bool]string{true: "invalid: ", false: "error: clock not confirmed"}[believed]
			if rejected, message := p.RejectEvent(t.Context(), ev); !rejected || !strings.HasPrefix(message, prefix) {
				t.Errorf("%s: %v %q, want %q", name, rejected, message, prefix)
			}
		}
	}
}

func TestFuture(t *testing.T) {
	for future, ahead := range map[time.Duration]int64{0: 900, time.Minute: 60} {
		p := mustPolicy(t, Options{Future: future})
		ev := note(agentKey)
		ev.CreatedAt = nostr.Timestamp(start.Unix() + ahead)
		check(t, p, ev, "")
		ev.CreatedAt++
		check(t, p, ev, "invalid: created_at is more than")
		ev.CreatedAt = 1<<63 - 1
		check(t, p, ev, "invalid: created_at is more than")
	}
}

func TestKhatruFault_AuthEventIsBroadcast(t *testing.T) {
	p := mustPolicy(t, Options{Kinds: []int{22242, 27235}})
	check(t, p, withKind(22242, note(agentKey)), "invalid: kind 22242")
	check(t, p, withKind(27235, note(agentKey)), "invalid: kind 27235")
}

func TestProtected(t *testing.T) {
	who := gate.Reader{}
	p := mustPolicy(t, Options{Reader: func(context.Context) gate.Reader { return who }})
	for _, tag := range []nostr.Tag{{"-"}, {"-", "x"}} {
		ev := note(agentKey, tag)
		who = gate.Reader{}
		check(t, p, ev, "auth-required: ")
		who = gate.NewReader(strangerKey)
		check(t, p, ev, "restricted: ")
		who = gate.NewReader(strangerKey, agentKey)
		check(t, p, ev, "")
	}
	who = gate.Reader{}
	check(t, p, note(agentKey, nostr.Tag{"x", "-"}), "")
}

func TestProtectedRepost(t *testing.T) {
	p := mustPolicy(t, Options{})
	inner := note(agentKey, nostr.Tag{"-"})
	inner.ID, inner.Sig = dTag, dTag+dTag
	for _, kind := range []int{6, 16} {
		ev := withKind(kind, note(strangerKey))
		ev.Content = inner.String()
		check(t, p, ev, "blocked: a repost must not carry a protected event")
		ev.Content = strings.Replace(ev.Content, `["-"]`, `["t","x"]`, 1)
		check(t, p, ev, "")
		ev.Content = ""
		check(t, p, ev, "")
		ev.Content = `look: ["-"]`
		check(t, p, ev, "")
	}
}

func TestBansAndKinds(t *testing.T) {
	p := mustPolicy(t, Options{BannedAuthors: []string{strangerKey}, BannedKinds: []int{7}, Kinds: []int{1, 7, 30174}})
	check(t, p, note(agentKey), "")
	check(t, p, note(strangerKey), "blocked: this key may not write here")
	check(t, p, withKind(7, note(agentKey)), "blocked: kind 7 is not accepted here")
	check(t, p, withKind(4, note(agentKey)), "blocked: kind 4 is not accepted here")
	check(t, p, withKind(5, note(agentKey)), "")
	check(t, p, withKind(5, note(strangerKey)), "blocked: ")
	check(t, p, withKind(30078, note(agentKey, nostr.Tag{"d", gate.ApprovalD})), "blocked: kind 30078")
	banned := mustPolicy(t, Options{BannedKinds: []int{5}})
	check(t, banned, withKind(5, note(agentKey)), "blocked: kind 5 is not accepted here")
}

// An event that offends against every rule hears of the first, and once that
// is mended of the next.
func TestOrder(t *testing.T) {
	var approved error
	p := mustPolicy(t, Options{
		Owners: []string{ownerKey}, Kinds: []int{1}, BannedAuthors: []string{strangerKey}, BannedKinds: []int{30174},
		Rates: Rates{Share: fairness.Rate{PerSecond: 1e-9, Burst: 1}, Key: fairness.Rate{PerSecond: 1e-9, Burst: 1}}, MaxTags: 5,
		Approved: func(context.Context, []string, string) (bool, error) { return approved == nil, approved },
	})
	client := fairness.Who{Share: "192.0.2.1", Conn: 1}
	checkFrom(t, p, client, note(ownerKey), "") // takes what the rates allow
	ev := engram(strangerKey, agentKey, nostr.Tag{"-"}, nostr.Tag{"expiration", "1"}, nostr.Tag{"d"}, nostr.Tag{"x"})
	ev.CreatedAt += 100_000
	for _, step := range []struct {
		want string
		mend func()
	}{
		{"invalid: an event may have at most 5 tags", func() { ev.Tags = ev.Tags[:5] }},
		{"invalid: not an engram", func() { ev.Tags = ev.Tags[:4] }},
		{"invalid: the event has expired", func() { ev.Tags = ev.Tags[:3] }},
		{"auth-required: ", func() { ev.Tags = ev.Tags[:2] }},
		{"invalid: created_at", func() { ev.CreatedAt -= 100_000 }},
		{"blocked: this key", func() { ev.PubKey = agentKey }},
		{"blocked: kind 30174", func() { ev.Kind = 7 }},
		{"blocked: kind 7", func() { ev.Kind = 1; approved = context.Canceled }},
		{"error: ", func() { approved = nil }},
		{"rate-limited: one address", func() {}},
	} {
		checkFrom(t, p, client, ev, step.want)
		step.mend()
	}
	if len(p.hooks) != 12 {
		t.Errorf("%d hooks: a rule is not in the order above", len(p.hooks))
	}
}

func TestNewNamesEveryFault(t *testing.T) {
	_, err := New(Options{
		Authors: []string{agentKey, "npub1x"}, Owners: []string{strings.ToUpper(ownerKey)}, BannedAuthors: []string{""},
		Kinds: []int{65536}, BannedKinds: []int{-1}, Future: -1, Rates: Rates{Key: fairness.Rate{PerSecond: 1}, Share: fairness.Rate{PerSecond: -1, Burst: 1}},
	})
	if err == nil {
		t.Fatal("accepted")
	}
	for _, says := range []string{
		"write.authors: entry 2", "write.owners: entry 1", "write.ban_authors: entry 1", "write.kinds: 65536", "write.ban_kinds: -1",
		"time window", "a rate",
	} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%q does not say %q", err, says)
		}
	}
	if _, err := mustPolicy(t, Options{}).Reload(Options{Kinds: []int{-1}}); err == nil {
		t.Error("a reload with a fault was accepted")
	}
}

func TestOptionsAreCopied(t *testing.T) {
	o := Options{Authors: []string{agentKey}, Kinds: []int{1}}
	p := mustPolicy(t, o)
	o.Authors[0], o.Kinds[0] = strangerKey, 2
	check(t, p, note(agentKey), "")
	check(t, p, note(strangerKey), "restricted: ")
}

func TestLiveSwap(t *testing.T) {
	var live Live
	check(t, &live, note(agentKey), "error: ")
	open, closed := mustPolicy(t, Options{}), mustPolicy(t, Options{BannedAuthors: []string{agentKey}})
	live.Set(open)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if rejected, msg := live.RejectEvent(context.Background(), note(agentKey)); rejected && !strings.HasPrefix(msg, "blocked: ") {
					t.Errorf("%q", msg)
				}
			}
		})
	}
	for range 100 {
		live.Set(closed)
		live.Set(open)
	}
	wg.Wait()
	live.Set(closed)
	check(t, &live, note(agentKey), "blocked: ")
	if live.Current() != closed {
		t.Error("the policy is not the one last set")
	}
}
