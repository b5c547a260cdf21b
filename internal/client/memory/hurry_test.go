package memory

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/nips/nipae"
)

// long is a time limit that no test reaches.
func long(o *client.Options) { o.Timeout, o.Grace = 5*time.Minute, 0 }

// TestOneThatHangsIsNotWaitedFor: the answers of the others are returned at
// once, marked as partial, and the next question waits less.
func TestOneThatHangsIsNotWaitedFor(t *testing.T) {
	now := time.Now().Unix()
	has := clienttest.StartHoard(t, &clienttest.Hoard{Hints: true, Events: []*nostr.Event{
		clienttest.EngramAt(t, "agent", "owner", nipae.Core, "me", now-5), clienttest.EngramAt(t, "agent", "owner", "mem/a", "text", now-5)}})
	m := agentOf(t, "agent", "owner", []string{has, clienttest.Silent(t)}, long)
	if err := m.c.Discover(t.Context(), m.agent); err != nil || !client.Hurried(m.c.Doubts()) {
		t.Fatalf("discover: %v, %+v", err, m.c.Doubts())
	}
	for what, ask := range map[string]func() (client.Status, error){
		"get":  func() (client.Status, error) { _, s, err := m.Get(t.Context(), nipae.Core); return s, err },
		"list": func() (client.Status, error) { _, s, err := listed(t, m); return s, err },
		"log":  func() (client.Status, error) { _, s, err := m.Log(t.Context(), "mem/a"); return s, err },
	} {
		start := time.Now()
		status, err := ask()
		if err != nil || !status.Partial || !client.Hurried(status.Relays) {
			t.Errorf("%s: %v, %+v", what, err, status)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s took %v", what, took)
		}
	}
}

// TestAbsentIsWaitedFor: nothing is reported absent or partial before a slow
// relay, and its list of relays, had the whole time.
func TestAbsentIsWaitedFor(t *testing.T) {
	now := time.Now().Unix()
	listed := clienttest.StartHoard(t, &clienttest.Hoard{Hints: true, Events: []*nostr.Event{clienttest.EngramAt(t, "agent", "owner", "mem/far", "away", now-5)}})
	release := make(chan struct{})
	slow := &clienttest.Hoard{Hints: true, Events: []*nostr.Event{clienttest.EngramAt(t, "agent", "owner", "mem/a", "text", now-5), clienttest.RelayList(t, now, nostr.Tag{"r", listed})}}
	slow.Asking = func(int) { <-release }
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, &clienttest.Hoard{Hints: true}), clienttest.StartHoard(t, slow)}, long)
	if err := m.c.Discover(t.Context(), m.agent); err != nil || !client.Hurried(m.c.Doubts()) {
		t.Fatalf("discover: %v, %+v", err, m.c.Doubts())
	}
	time.AfterFunc(100*time.Millisecond, func() { close(release) })
	for slug, want := range map[nipae.Slug]string{"mem/a": "text", "mem/far": "away"} {
		if e, status, err := m.Get(t.Context(), slug); err != nil || e.Text != want {
			t.Errorf("%s: %q, %v, %+v", slug, e.Text, err, status)
		}
	}
	if _, status, err := m.Get(t.Context(), "mem/none"); !errors.Is(err, client.ErrNotFound) || status.Partial {
		t.Errorf("absent: %v, %+v", err, status)
	}
}

// TestPatient: with Options.Patient every relay has the whole time.
func TestPatient(t *testing.T) {
	has := clienttest.StartHoard(t, &clienttest.Hoard{Hints: true, Events: []*nostr.Event{clienttest.EngramAt(t, "agent", "owner", "mem/a", "text", time.Now().Unix())}})
	relays := []string{has, clienttest.Silent(t)}
	scaled(t, func(timeout func(*client.Options)) error {
		m := agentOf(t, "agent", "owner", relays, func(o *client.Options) { timeout(o); o.Patient = true })
		if _, status, err := m.Get(t.Context(), "mem/a"); err != nil || client.Hurried(status.Relays) || !status.Partial {
			return fmt.Errorf("%w, %+v", err, status)
		}
		return nil
	})
}

// TestOneQuestionIsAskedOnce: neither the list of relays nor what a relay shows
// only after AUTH is asked for twice.
func TestOneQuestionIsAskedOnce(t *testing.T) {
	relay := gated(t)
	var sent transcript
	m := agentOf(t, "agent", "owner", []string{relay}, sent.into)
	put(t, []string{relay}, clienttest.EngramAt(t, "agent", "owner", "mem/a", "text", time.Now().Unix()))
	if err := m.c.Discover(t.Context(), m.agent); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Get(t.Context(), "mem/a"); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(sent.String(), `true ["REQ"`); n != 2 {
		t.Errorf("%d questions:\n%s", n, sent.String())
	}
}

// TestOneRelayIsNamedOnce: an error has one line for each relay, even if it
// failed at several questions.
func TestOneRelayIsNamedOnce(t *testing.T) {
	one := client.RelayStatus{URL: "ws://one", Err: errors.New("down")}
	err := client.Failures(client.ErrPartial, []client.RelayStatus{one, {URL: "ws://two"}, one, {URL: "ws://one", Err: fmt.Errorf("%w: down", client.ErrUnsure)}})
	if n := strings.Count(err.Error(), "ws://one"); n != 1 || !strings.Contains(err.Error(), "ws://two") {
		t.Error(err)
	}
	// A command's case: one of two relays is down, and nothing is found.
	down := "ws://127.0.0.1:1"
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, &clienttest.Hoard{Hints: true}), down}, nil)
	if err := m.c.Discover(t.Context(), m.agent); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Get(t.Context(), "mem/a"); !errors.Is(err, client.ErrPartial) || strings.Count(err.Error(), down) != 1 {
		t.Error(err)
	}
}
