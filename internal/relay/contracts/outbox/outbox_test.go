package outbox

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/relay"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/nip01"
)

func wantGot(t *testing.T, who string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s has %v, want %v", who, got, want)
	}
}

func TestDelivers(t *testing.T) {
	north, south := startRelay(t), startRelay(t)
	r := newRig(t, north.url(), south.url())
	r.start()
	for i := range 5 {
		r.say("c", i, false)
	}
	r.empty()
	for _, f := range []*fakeRelay{north, south} {
		wantGot(t, "a relay", f.contents(), "c0", "c1", "c2", "c3", "c4")
	}
	if r.counts.of("1 delivered") != 5 || r.counts.of("2 delivered") != 5 || len(r.ours.contents()) != 0 || len(r.told) != 0 {
		t.Errorf("counted %v, this relay got %v", r.counts.n, r.ours.contents())
	}
}

func TestNothingIsKeptForNobody(t *testing.T) {
	r := newRig(t)
	r.start()
	r.say("c", 1, false)
	if items, err := r.store.Outbox(t.Context(), store.OutboxLocal, 0, 10); err != nil || len(items) != 0 {
		t.Errorf("%v, %v", items, err)
	}
}

// TestLocalFirst: what this relay refuses is submitted to it again, in order,
// and sent to others only after it is accepted.
func TestLocalFirst(t *testing.T) {
	north := startRelay(t)
	r := newRig(t, north.url())
	r.ours.set(func(ev *nostr.Event) relay.Answer {
		if strings.HasPrefix(ev.Content, "c") {
			return relay.Answer{Why: nip01.Parse("restricted: only listed keys may write"), Outcome: "refused"}
		}
		return relay.Answer{}
	})
	r.start()
	r.say("c", 1, true)
	r.say("c", 2, true)
	r.say("d", 3, true)
	r.say("c", 4, false)
	until(t, north, "the other contract's entry", func() bool { return len(north.got) == 1 })
	wantGot(t, "the further relay", north.contents(), "d3")
	if waits, err := r.box.Waits(t.Context(), "c", author.Pub); err != nil || !waits {
		t.Errorf("waits %t, %v", waits, err)
	}
	r.timers.paused(t, 1)
	r.ours.set(nil)
	r.timers.pass(pause(1))
	r.empty()
	wantGot(t, "this relay", r.ours.contents(), "d3", "c1", "c2")
	wantGot(t, "the further relay", north.contents(), "d3", "c1", "c2", "c4")
	for _, want := range []string{"d3", "c1", "c2"} {
		if told := <-r.told; told != want {
			t.Errorf("told of %s, want %s", told, want)
		}
	}
}

// TestRefusalHoldsItsLaneOnly: entries behind a refused one wait; those of
// other contracts do not.
func TestRefusalHoldsItsLaneOnly(t *testing.T) {
	north := startRelay(t)
	north.refuse = func(ev *nostr.Event) string {
		return map[string]string{"c1": "blocked: not today " + author.Pub}[ev.Content]
	}
	r := newRig(t, north.url())
	var log bytes.Buffer
	r.o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	r.start()
	for i, c := range []string{"c", "d", "c", "e", "d"} {
		r.say(c, i+1, false)
	}
	until(t, north, "the others", func() bool { return len(north.got) == 3 })
	got := north.contents()
	slices.Sort(got)
	wantGot(t, "the relay", got, "d2", "d5", "e4")
	// The pauses of the refused lane grow up to a bound.
	for n := 1; n == 1 || pause(n-1) < maxPause; n++ {
		if n > 1 {
			r.timers.pass(pause(n - 1))
		}
		r.until(north, "another attempt", func() bool { return north.tried == 3+n })
		r.timers.pausedFor(t, pause(n))
	}
	if pause(11) != maxPause || pause(1_000_000) != maxPause || pause(1) != firstPause {
		t.Errorf("pauses %v, %v", pause(11), pause(1_000_000))
	}
	north.set(func() { north.refuse, north.got = nil, nil })
	r.timers.pass(maxPause)
	r.empty()
	wantGot(t, "the relay", north.contents(), "c1", "c3")
	r.box.Close()
	if strings.Contains(log.String(), author.Pub) || !strings.Contains(log.String(), "reason=blocked") {
		t.Errorf("the log says %s", log.String())
	}
}

// TestVanishedRelayGetsAllLater: in order and once, including what was queued
// meanwhile and what was under way when it vanished.
func TestVanishedRelayGetsAllLater(t *testing.T) {
	north := startRelay(t)
	r := newRig(t, north.url())
	r.start()
	r.say("c", 1, false)
	r.empty()
	north.vanish()
	for i := 2; i <= 100; i++ {
		r.say("c", i, false)
	}
	r.timers.paused(t, 1)
	if lag, err := r.box.Lag(t.Context()); err != nil || lag[1].Waiting != 99 || lag[0].Waiting != 0 {
		t.Errorf("lag %+v, %v", lag, err)
	}
	r.timers.pass(time.Hour)
	r.timers.paused(t, 2)
	if lag, err := r.box.Lag(t.Context()); err != nil || lag[1].Oldest != time.Hour {
		t.Errorf("lag %+v, %v", lag, err)
	}
	north.appear(north.addr)
	r.timers.pass(time.Hour)
	r.empty()
	want := make([]string, 100)
	for i := range want {
		want[i] = fmt.Sprintf("c%d", i+1)
	}
	wantGot(t, "the relay", north.contents(), want...)
}

// TestSlowRelayIsAskedAgain: an event without an answer is sent again, and
// stored once.
func TestSlowRelayIsAskedAgain(t *testing.T) {
	north, south := startRelay(t), startRelay(t)
	north.hangs = true
	r := newRig(t, north.url(), south.url())
	r.o.Timeout = 100 * time.Millisecond
	r.start()
	r.say("c", 1, false)
	r.say("c", 2, false)
	until(t, north, "the slow relay", func() bool { return len(north.got) > 0 })
	r.pass(south, "the relay that is not slow has both", func() bool { return len(south.got) == 2 })
	r.timers.paused(t, 1)
	north.set(func() { north.hangs = false })
	r.box.Close() // or a crash: what was sent and not acknowledged
	r.o.Timeout = patience
	r.start()
	r.empty()
	wantGot(t, "the slow relay", north.contents(), "c1", "c2")
	wantGot(t, "the other", south.contents(), "c1", "c2")
	if r.counts.of("1 known") == 0 {
		t.Errorf("counted %v", r.counts.n)
	}
}

// TestPoisonedEventDoesNotBlock: a relay that closes the connection at one
// event gets the others.
func TestPoisonedEventDoesNotBlock(t *testing.T) {
	north := startRelay(t)
	north.drops = func(ev *nostr.Event) bool { return ev.Content == "c1" }
	r := newRig(t, north.url())
	r.start()
	r.say("c", 1, false)
	r.timers.paused(t, 1)
	r.say("d", 2, false)
	r.pass(north, "the other entry is delivered", func() bool { return len(north.got) == 1 })
	north.set(func() { north.drops = nil })
	r.timers.pass(time.Hour)
	r.empty()
	wantGot(t, "the relay", north.contents(), "d2", "c1")
}

func TestAnswersAuth(t *testing.T) {
	north := startRelay(t)
	r := newRig(t, north.url())
	first, second := signer(storetest.NewKey("relay")), signer(storetest.NewKey("relay, later"))
	r.o.Identity = first
	r.start()
	north.set(func() { north.auth = first.PubKey() })
	r.say("c", 1, false)
	r.empty()
	wantGot(t, "the relay", north.contents(), "c1")

	// The relay now admits the second key only: nothing is sent until the outbox
	// authenticates with it.
	north.set(func() { north.auth, north.tried = second.PubKey(), 0 })
	r.say("c", 2, false)
	r.until(north, "an attempt with the old key", func() bool { return north.tried > 0 })
	r.box.SetIdentity(second)
	r.empty()
	wantGot(t, "the relay", north.contents(), "c1", "c2")
}

// signer is an identity that signs without showing its key.
func signer(k storetest.Key) client.Identity {
	return client.Signing(k.Pub, func(ev *nostr.Event) error { return ev.Sign(k.Secret) })
}

// TestSupersededIsDone: a relay that has a newer entry is not sent the older
// one for ever.
func TestSupersededIsDone(t *testing.T) {
	north := startRelay(t)
	north.refuse = func(*nostr.Event) string { return "duplicate: have a newer event" }
	r := newRig(t, north.url())
	r.start()
	r.say("c", 1, false)
	r.empty()
	if r.counts.of("1 superseded") != 1 {
		t.Errorf("counted %v", r.counts.n)
	}
}

// TestDeletedIsNotPublished: an event that its author deleted here is no longer
// sent anywhere.
func TestDeletedIsNotPublished(t *testing.T) {
	north := startRelay(t)
	r := newRig(t, north.url())
	r.ours.set(func(*nostr.Event) relay.Answer {
		return relay.Answer{Why: store.WhyDeleted, Outcome: store.Deleted.String()}
	})
	r.start()
	r.say("c", 1, true)
	r.empty()
	wantGot(t, "the relay", north.contents())
	if len(r.told) != 0 || r.counts.of("0 withdrawn") != 1 {
		t.Errorf("told of %d, counted %v", len(r.told), r.counts.n)
	}
}

func TestWithdraw(t *testing.T) {
	r := newRig(t)
	r.ours.set(func(*nostr.Event) relay.Answer {
		return relay.Answer{Why: nip01.Parse("blocked: contract c is completed"), Outcome: "refused"}
	})
	r.start()
	ev := r.say("c", 1, true)
	r.timers.paused(t, 1)
	if err := r.box.Withdraw(t.Context(), ev.ID); err != nil {
		t.Fatal(err)
	}
	r.empty()
}

// TestLeftTargetIsForgotten: a target that was removed gets nothing more, and a
// new one gets what is queued from then on.
func TestLeftTargetIsForgotten(t *testing.T) {
	north, south := startRelay(t), startRelay(t)
	north.vanish()
	r := newRig(t, north.url())
	r.start()
	r.say("c", 1, false)
	r.timers.paused(t, 1)
	r.box.Close()
	r.o.Targets = []string{south.url()}
	r.start()
	r.say("c", 2, false)
	r.empty()
	wantGot(t, "the new target", south.contents(), "c2")
}

func TestManyContractsAtOnce(t *testing.T) {
	north := startRelay(t)
	r := newRig(t, north.url())
	r.start()
	want := map[string][]string{}
	for i := range 400 {
		c := string(rune('a' + i%23))
		ev := r.say(c, i, i%3 == 0)
		want[c] = append(want[c], ev.Content)
	}
	r.empty()
	got := map[string][]string{}
	for _, content := range north.contents() {
		got[content[:1]] = append(got[content[:1]], content)
	}
	for c := range want {
		wantGot(t, "contract "+c, got[c], want[c]...)
	}
	if len(r.told) != 134 || len(r.ours.contents()) != 134 {
		t.Errorf("this relay has %d and told of %d", len(r.ours.contents()), len(r.told))
	}
}
