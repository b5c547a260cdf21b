package session

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

// TestOutboxOrder: while who decides does not answer, all that is written at a slug waits
// behind what waits there, and what cannot wait is refused.
func TestOutboxOrder(t *testing.T) {
	decider, other := newGate(t), newGate(t)
	if other.url < decider.url {
		decider, other = other, decider
	}
	s := machineAt(t, decider.url+" "+other.url).session()
	slugs := []nipae.Slug{"mem/a", "mem/b"}
	for _, slug := range slugs {
		setTo(t, s, slug, "one", false)
	}
	e, _, err := s.Memory.Get(t.Context(), "mem/a")
	if err != nil {
		t.Fatal(err)
	}
	decider.set(true)
	for _, base := range []string{e.Hash, ""} {
		if _, status, err := s.Memory.Set(t.Context(), "mem/a", "with "+base, memory.SetOptions{Base: base, Later: &memory.Later{}}); err != nil || !status.Queued {
			t.Fatalf("base %q: %+v, %v", base, status, err)
		}
	}
	edit(t, s, "mem/a", "with ", "three", true)
	appendTo(t, s, "mem/a", "four", true)
	appendTo(t, s, "mem/b", "two", true)
	appendTo(t, s, "mem/unknown", "first", true)
	edit(t, s, "mem/b", "two", "TWO", true)
	_, _, renamed := s.Memory.Set(t.Context(), "mem/c", "one", memory.SetOptions{Like: "mem/b"})
	_, _, removed := s.Memory.Remove(t.Context(), "mem/a", false)
	_, _, restored := s.Memory.Restore(t.Context(), "mem/a", memory.When{Time: time.Now().Unix()}, nil)
	_, _, set := s.Memory.Set(t.Context(), "mem/a", "five", memory.SetOptions{})
	if err := errors.Join(renamed, removed, restored, set); strings.Count(err.Error(), ErrWaits.Error()) != 4 {
		t.Errorf("what cannot wait: %v", err)
	}
	if e, status, err := s.Memory.Read(t.Context(), "mem/a"); err != nil || !status.Queued || !strings.HasSuffix(e.Text, "three\nfour") {
		t.Errorf("%q, %+v, %v", e.Text, status, err)
	}
	beside := machineAt(t, other.url).session()
	for _, slug := range slugs {
		if got := body(t, beside, slug); got != "one" {
			t.Errorf("%s is %q while it waits", slug, got)
		}
	}
	if _, _, err := beside.Memory.Get(t.Context(), "mem/c"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("renamed in part: %v", err)
	}
	decider.set(false)
	if out := sent(t, s); out.Written != 3 || out.Apart+out.Left != 0 || body(t, s, "mem/a") != "three\nfour" || body(t, s, "mem/b") != "one\nTWO" || body(t, s, "mem/unknown") != "first" {
		t.Errorf("%+v", out)
	}
	unreached := machineAt(t, "ws://127.0.0.1:1 "+other.url).session()
	edit(t, unreached, "mem/b", "one", "ONE", true)
	if _, err := unreached.Outbox.Send(t.Context(), ""); !client.Silent(err) {
		t.Errorf("nobody decides: %v", err)
	}
	if all, err := unreached.Outbox.All(t.Context()); err != nil || len(all) != 1 || all[0].Sent != "" || all[0].Reason == "" {
		t.Errorf("what was never sent: %+v, %v", all, err)
	}
}

// TestTakenBeforeUnconnected: a relay that took a write without deciding is not forgotten
// for one after it that is not there.
func TestTakenBeforeUnconnected(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"accepted":true}`)
	}))
	t.Cleanup(srv.Close)
	takes, down := "ws"+strings.TrimPrefix(srv.URL, "http"), "ws://127.0.0.1:9"
	d, err := machineAt(t, takes).session().Client.Decide(t.Context(), client.TargetsOf([]string{takes, down}), &nostr.Event{}, nil, nil)
	if len(d.Published) != 2 || !d.Published[0].Accepted || !client.Silent(err) || errors.Is(err, client.ErrUnconnected) {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestOutboxNewer: a newer text that relays have is read, and it is said that a write
// waits.
func TestOutboxNewer(t *testing.T) {
	g := newGate(t)
	s, other := machineAt(t, g.url).session(), machineAt(t, g.relay).session()
	for _, slug := range []nipae.Slug{"mem/a", "mem/gone", "mem/same"} {
		setTo(t, s, slug, "a wombat", false)
	}
	g.set(true)
	for _, slug := range []nipae.Slug{"mem/a", "mem/gone", "mem/same"} {
		setTo(t, s, slug, "my wombat", true)
	}
	setTo(t, other, "mem/a", "their wombat", false)
	if _, _, err := other.Memory.Remove(t.Context(), "mem/gone", false); err != nil {
		t.Fatal(err)
	}
	if e, status, err := s.Memory.Read(t.Context(), "mem/a"); err != nil || !status.Queued || !status.Stale || !strings.HasSuffix(e.Text, "my wombat") {
		t.Errorf("where nobody answers: %q, %+v, %v", e.Text, status, err)
	}
	g.set(false)
	if e, status, err := s.Memory.Read(t.Context(), "mem/a"); err != nil || status.Queued || !status.Waits || !strings.HasSuffix(e.Text, "their wombat") {
		t.Errorf("%q, %+v, %v", e.Text, status, err)
	}
	if _, status, err := s.Memory.Read(t.Context(), "mem/gone"); !errors.Is(err, client.ErrTombstone) || !status.Waits {
		t.Errorf("removed: %+v, %v", status, err)
	}
	if e, status, err := s.Memory.Read(t.Context(), "mem/same"); err != nil || !status.Queued || status.Waits || !strings.HasSuffix(e.Text, "my wombat") {
		t.Errorf("%q, %+v, %v", e.Text, status, err)
	}
	l, status, err := s.Memory.ReadAll(t.Context())
	if err != nil || !status.Waits || !status.Queued || !strings.HasSuffix(l.Memories[0].Text, "their wombat") {
		t.Errorf("%+v, %+v, %v", l.Memories, status, err)
	}
	kept, err := s.Copies.Open(t.Context(), s.o.Note)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	kept.Found()
	kept.Asked(t.Context())
	_ = kept.Source().Read(t.Context(), func(v answer.View) error {
		head, _ := v.Head("mem/a")
		if text, _ := v.Text("mem/a"); head.Unsent || !strings.HasSuffix(text, "their wombat") {
			t.Errorf("recalled %q", text)
		}
		return nil
	})
}

// TestOutboxRoom: what waits fits apart; what does not waits with the reason, and what
// comes after it waits too.
func TestOutboxRoom(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	g := newGate(t)
	s, other := machineAt(t, g.url).session(), machineAt(t, g.relay).session()
	g.set(true)
	most := 0
	for n := nipae.MaxBody - 300; n < nipae.MaxBody; n += 10 {
		_, _, err := s.Memory.Set(t.Context(), "mem/big", strings.Repeat("y", n), mayWait)
		if err == nil {
			most = n
		} else if !errors.Is(err, client.ErrTooLarge) {
			t.Fatal(err)
		}
	}
	setTo(t, other, "mem/big", "theirs", false)
	setTo(t, other, "mem/old", "theirs", false)
	state, place := s.Outbox.state(t.Context()), int64(0)
	for _, c := range []content{{Text: strings.Repeat("y", nipae.MaxBody-40), Base: memory.BaseNone}, {Text: "later", Base: client.Hash("no such")}} {
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		q, err := state.Outbox.Put(t.Context(), memorystate.Queued{Slug: "mem/old", Data: data, At: time.Now()}, place)
		if place = q.N; err != nil {
			t.Fatal(err)
		}
	}
	g.set(false)
	out := sent(t, s)
	if most < nipae.MaxBody-200 || out.Apart != 1 || out.Left != 2 || out.Written != 0 || !strings.Contains(out.Reason, "could not be kept beside it") || body(t, s, "mem/old") != "theirs" {
		t.Errorf("at most %d bytes, %#v, %q", most, out, waiting(t, s))
	}

	// What may be stored stays so, whatever is there.
	all, err := s.Outbox.All(t.Context())
	if err == nil {
		err = state.Outbox.Signed(t.Context(), strings.Repeat("ab", 32), all[0].ID)
	}
	c := &chain{o: s.Outbox, state: state, out: &Sent{}, all: all[:1], doubt: true}
	if err == nil {
		err = c.failed(t.Context(), client.ErrBehind)
	}
	if all, _ = s.Outbox.All(t.Context()); err != nil || all[0].Sent == "" || all[0].Reason != client.ErrBehind.Error() {
		t.Errorf("%+v, %v", all, err)
	}
}
