package main

import (
	"crypto/rand"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// audited is what verify --json says that these tests look at.
type audited struct {
	Events, Faults int
	Counts         map[writerlog.Kind]int
	Logs           []struct{ Complete bool }
	Findings       []struct {
		Kind   writerlog.Kind
		N      int64
		IDs    []string
		Detail string
	}
}

// verifies runs verify and returns its exit code and its answer.
func (r *chainedRig) verifies(args ...string) (int, audited) {
	r.t.Helper()
	got := r.run(strings.NewReader(""), append([]string{"verify", "--json"}, args...)...)
	var out audited
	if err := json.Unmarshal([]byte(got.stdout), &out); err != nil {
		r.t.Fatalf("exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	return got.code, out
}

// again restarts the relay at its address, with other data unless data is "".
func (r *chainedRig) again(data string) {
	r.t.Helper()
	o := relaytest.Options{Data: r.relay.Data, Listen: strings.TrimPrefix(r.relay.URL, "ws://")}
	if code, text := r.relay.Stop(); code != 0 {
		r.t.Fatalf("engramd ended with %d: %s", code, text)
	}
	if data != "" {
		copyTree(r.t, data, o.Data)
	}
	r.relay = relaytest.Start(r.t, o)
}

// TestVerifyRolledBack: a relay whose data were restored from a backup is
// named, by the agent's machine and by the owner's, each time until it shows
// what it showed before.
func TestVerifyRolledBack(t *testing.T) {
	r := newChainedRig(t)
	r.does("", "mem", "set", "a", "one")
	backup := filepath.Join(r.dir, "backup")
	r.again("")
	if code, text := r.relay.Stop(); code != 0 {
		t.Fatal(text)
	}
	copyTree(t, r.relay.Data, backup)
	r.relay = relaytest.Start(t, relaytest.Options{Data: r.relay.Data, Listen: strings.TrimPrefix(r.relay.URL, "ws://")})
	r.does("", "mem", "set", "a", "two")
	r.does("", "mem", "set", "b", "three")
	owner := newHookRig(t, r.relay.URL)
	owner.write("owner.key", relaytest.Owner().Secret+"\n")
	asOwner := []string{"verify", "--key-file", filepath.Join(owner.dir, "owner.key"), "--agent", relaytest.Agent().Pub}
	if got := owner.run(strings.NewReader(""), asOwner...); got.code != 0 {
		t.Fatal(got)
	}
	if code, out := r.verifies(); code != 0 || out.Events != 3 || !out.Logs[0].Complete {
		t.Fatalf("exit code %d: %+v", code, out)
	}
	r.again(backup)
	for range 2 {
		code, out := r.verifies()
		if code != exit.Unreadable || out.Counts[writerlog.RolledBack] != 1 {
			t.Errorf("exit code %d: %+v", code, out.Findings)
		}
		if got := owner.run(strings.NewReader(""), asOwner...); got.code != exit.Unreadable || !strings.Contains(got.stdout, "FAULT rolled-back: writer ") {
			t.Errorf("the owner: %+v", got)
		}
	}
}

// TestVerifyForgetful: a machine that never looked before finds out that a
// relay lost all that the machine wrote to it, also beside another relay that
// promises nothing.
func TestVerifyForgetful(t *testing.T) {
	r := newChainedRig(t)
	empty := filepath.Join(r.dir, "empty")
	if code, text := r.relay.Stop(); code != 0 {
		t.Fatal(text)
	}
	copyTree(t, r.relay.Data, empty)
	r.relay = relaytest.Start(t, relaytest.Options{Data: r.relay.Data, Listen: strings.TrimPrefix(r.relay.URL, "ws://")})
	r.does("", "mem", "set", "a", "one")
	r.does("", "mem", "set", "a", "two")
	r.again(empty)
	bare := relaytest.Start(t, relaytest.Options{Args: []string{"--history-versions", "0"}})
	for _, args := range [][]string{nil, {"--relay", r.relay.URL, "--relay", bare.URL}} {
		if code, out := r.verifies(args...); code != exit.Unreadable || out.Counts[writerlog.Missing] != 2 {
			t.Errorf("exit code %d: %+v", code, out.Findings)
		}
	}
	if code, out := r.verifies("--relay", bare.URL); code != 0 || out.Counts[writerlog.Unsure] != 2 || out.Logs[0].Complete {
		t.Errorf("of a relay that never had it: exit code %d: %+v", code, out.Findings)
	}
}

// TestVerifyForkedAndMissing: two events with one number, and one that the
// relay was made to lose.
func TestVerifyForkedAndMissing(t *testing.T) {
	r := newChainedRig(t)
	for _, slug := range []string{"a", "b", "c", "d"} {
		r.does("", "mem", "set", slug, "text of "+slug)
	}
	second, link := r.numbered(1)
	r.publish(t, "mem/twin", link, second.CreatedAt()+10)
	code, out := r.verifies()
	if code != exit.Unreadable || out.Counts[writerlog.Forked] != 1 || out.Faults != 1 || len(out.Findings[0].IDs) != 2 {
		t.Errorf("exit code %d: %+v", code, out.Findings)
	}

	r = newChainedRig(t)
	for _, slug := range []string{"a", "b", "c", "d"} {
		r.does("", "mem", "set", slug, "text of "+slug)
	}
	second, _ = r.numbered(1)
	lost := second.Event
	if answer, err := relaytest.Dial(r.relay.URL); err != nil {
		t.Fatal(err)
	} else {
		ok, err := answer.Publish(relaytest.Deletion(relaytest.Agent(), time.Now().Unix(), []string{"e", lost.ID}))
		answer.Close()
		if err != nil || !ok.True {
			t.Fatal(ok, err)
		}
	}
	code, out = r.verifies()
	if code != exit.Unreadable || out.Counts[writerlog.Missing] != 1 || out.Findings[0].IDs[0] != lost.ID || out.Findings[0].N != 1 {
		t.Errorf("exit code %d: %+v", code, out.Findings)
	}
	if got := r.run(strings.NewReader(""), "verify"); got.code != exit.Unreadable || !strings.Contains(got.stdout, "FAULT missing: writer ") || !strings.Contains(got.stderr, "a check failed: 1 fault") {
		t.Errorf("%+v", got)
	}
}

// numbered returns the event with a number.
func (r *chainedRig) numbered(n int64) (nipae.Engram, writerlog.Link) {
	r.t.Helper()
	for _, e := range r.every() {
		if link, ok := writerlog.Of(e); ok && link.N == n {
			return e, link
		}
	}
	r.t.Fatalf("nothing has number %d", n)
	return nipae.Engram{}, writerlog.Link{}
}

// publish publishes a memory of the agent with a link.
func (r *chainedRig) publish(t *testing.T, slug nipae.Slug, link writerlog.Link, at int64) {
	t.Helper()
	id, err := client.NewIdentity(relaytest.Agent().Secret)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(id, client.Options{Relays: []string{r.relay.URL}, Timeout: relaytest.Patience})
	defer c.Close()
	m, err := memory.AsAgent(c, relaytest.Owner().Pub)
	if err != nil {
		t.Fatal(err)
	}
	body, err := nipae.NewMemory(slug, "a twin")
	if err != nil {
		t.Fatal(err)
	}
	link.T = at
	if body, err = body.WithMember(writerlog.Member, link.JSON()); err != nil {
		t.Fatal(err)
	}
	ev, err := nipae.Seal(m.Conversation(), body, nipae.Sealing{Secret: relaytest.Agent().Secret, Owner: m.Owner(), CreatedAt: at, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	if published, err := c.Publish(t.Context(), ev); err != nil {
		t.Fatal(published, err)
	}
}
