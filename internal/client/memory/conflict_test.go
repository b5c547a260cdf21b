package memory

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

func TestBase(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL}
	m := agentOf(t, "agent", "owner", relays, nil)
	var conflict *client.ConflictError
	if _, _, err := m.Set(t.Context(), "mem/a", "x", SetOptions{Base: client.Hash("y")}); !errors.As(err, &conflict) || conflict.Theirs != nil {
		t.Errorf("a base where there is nothing: %v", err)
	}
	one := mustSet(t, m, "mem/a", "one")
	two, _, err := m.Set(t.Context(), "mem/a", "two", SetOptions{Base: one.Hash})
	if err != nil {
		t.Fatal(err)
	}
	conflict = nil
	_, status, err := m.Set(t.Context(), "mem/a", "three", SetOptions{Base: one.Hash})
	if !errors.As(err, &conflict) || conflict.Theirs == nil || *conflict.Theirs != two || conflict.Sent || status.Published != nil {
		t.Errorf("an old base: %v", err)
	}
	if _, _, err := m.Remove(t.Context(), "mem/a", false); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Set(t.Context(), "mem/a", "three", SetOptions{Base: two.Hash}); !errors.Is(err, client.ErrConflict) {
		t.Errorf("a base of what was removed: %v", err)
	}
	down := agentOf(t, "agent", "owner", append(relays, bridgetest.Down(t)), nil)
	if _, _, err := down.Set(t.Context(), "mem/none", "three", SetOptions{Base: two.Hash}); !errors.Is(err, client.ErrPartial) || errors.Is(err, client.ErrConflict) {
		t.Errorf("a base that a relay which is down may have: %v", err)
	}
}

// What is renamed keeps the members that NIP-AE does not define.
func TestLikeCarriesUnknownMembers(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL}
	m := agentOf(t, "agent", "owner", relays, nil)
	body, err := nipae.ParseBody([]byte(`{"slug":"mem/a","mine":{"kept":1.50},"value":"one"}`))
	if err != nil {
		t.Fatal(err)
	}
	put(t, relays, clienttest.Sealed(t, "agent", "owner", body, time.Now().Unix()-5))
	for _, to := range []nipae.Slug{"mem/b", "mem/removed", "mem/taken"} {
		want := `{"slug":"` + string(to) + `","mine":{"kept":1.50},"value":"two"}`
		if to != "mem/b" {
			mustSet(t, m, to, "x")
		}
		switch to {
		case "mem/removed":
			if _, _, err := m.Remove(t.Context(), to, false); err != nil {
				t.Fatal(err)
			}
		case "mem/taken": // it has a body of its own
			want = `{"slug":"mem/taken","value":"two"}`
		}
		if _, _, err := m.Set(t.Context(), to, "two", SetOptions{Like: "mem/a"}); err != nil {
			t.Fatal(err)
		}
		reading, _, err := m.reading(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := reading.Head.Body.Bytes(); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", to, got, err)
		}
	}
	if _, status, err := m.Set(t.Context(), "mem/c", "two", SetOptions{Like: "mem/none"}); !errors.Is(err, client.ErrNotFound) || status.Published != nil {
		t.Errorf("like nothing: %v", err)
	}
}

// Writes are dated one after the other, also within one second, and by a clock
// that lags behind.
func TestTimeIsMonotonic(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL}
	stopped := time.Now()
	m := agentOf(t, "agent", "owner", relays, func(o *client.Options) { o.Clock = func() time.Time { return stopped } })
	for i := range 5 {
		if e := mustSet(t, m, "mem/a", fmt.Sprint(i)); e.CreatedAt != stopped.Unix()+int64(i) {
			t.Errorf("write %d is dated %d after the clock", i, e.CreatedAt-stopped.Unix())
		}
	}
	lagging := agentOf(t, "agent", "owner", relays, func(o *client.Options) { o.Clock = func() time.Time { return stopped.Add(-time.Minute) } })
	if e := mustSet(t, lagging, "mem/a", "late"); e.CreatedAt != stopped.Unix()+5 {
		t.Errorf("dated %d after the clock", e.CreatedAt-stopped.Unix())
	}
	if got, _, err := m.Get(t.Context(), "mem/a"); err != nil || got.Text != "late" {
		t.Errorf("%q, %v", got.Text, err)
	}
}

// A head too far ahead is reported, and nothing is published.
func TestClockPoisoning(t *testing.T) {
	now := time.Now()
	h := &clienttest.Hoard{}
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, h)}, func(o *client.Options) { o.Clock = func() time.Time { return now } })
	threshold := int64(nipae.PoisonThreshold / time.Second)
	h.Put(clienttest.EngramAt(t, "agent", "owner", "mem/a", "ahead", now.Unix()+threshold), clienttest.EngramAt(t, "agent", "owner", "mem/b", "just", now.Unix()+threshold-1))
	var poisoned *client.PoisonedError
	_, _, err := m.Set(t.Context(), "mem/a", "x", SetOptions{})
	if !errors.As(err, &poisoned) || !errors.Is(err, client.ErrClockPoisoned) || !errors.Is(err, client.ErrConflict) || poisoned.Head != now.Unix()+threshold {
		t.Errorf("set: %v", err)
	}
	if _, _, err := m.Remove(t.Context(), "mem/a", false); !errors.Is(err, client.ErrClockPoisoned) {
		t.Errorf("remove: %v", err)
	}
	if h.Count() != 2 {
		t.Errorf("%d events were published", h.Count()-2)
	}
	if e := mustSet(t, m, "mem/b", "x"); e.CreatedAt != now.Unix()+threshold {
		t.Errorf("below the threshold: %d", e.CreatedAt-now.Unix())
	}
	if got, _, err := m.Get(t.Context(), "mem/a"); err != nil || got.Text != "ahead" {
		t.Errorf("it can be read: %q, %v", got.Text, err)
	}
}

// A relay that takes nothing, because it has something newer, and then does not
// show that: what the others took is no proof that it is the head.
func TestANewerVersionIsNotShown(t *testing.T) {
	hiding := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		sent := false
		for {
			f, ok := c.Read()
			switch {
			case !ok:
				return
			case f.Label == wire.LabelEvent:
				sent = true
				c.Send(wire.AppendOK(nil, f.Event.ID, false, "duplicate: a newer version is stored"))
			case f.Label == wire.LabelReq && sent:
				c.Sendf(`["CLOSED",%q,"error: try again"]`, f.SubID)
			case f.Label == wire.LabelReq:
				c.Send(wire.AppendEOSE(nil, f.SubID))
			}
		}
	}})
	m := agentOf(t, "agent", "owner", []string{bridgetest.Start(t).URL, hiding}, nil)
	var conflict *client.ConflictError
	_, status, err := m.Set(t.Context(), "mem/a", "x", SetOptions{})
	if !errors.As(err, &conflict) || !conflict.Sent || conflict.Theirs != nil || client.Accepted(status.Published) != 1 {
		t.Errorf("%v, %+v", err, status)
	}
}

// racing is a relay at which another writer comes first: it writes between our
// reading and our event.
func racing(t testing.TB, h *clienttest.Hoard, theirs func()) string {
	return clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for {
			f, ok := c.Read()
			switch {
			case !ok:
				return
			case f.Label == wire.LabelReq:
				found, _ := h.Find(f.Filters[0])
				for _, ev := range found {
					c.Event(f.SubID, ev)
				}
				c.Send(wire.AppendEOSE(nil, f.SubID))
			case f.Label == wire.LabelEvent:
				h.Put(f.Event)
				theirs()
				c.Send(wire.AppendOK(nil, f.Event.ID, true, ""))
			}
		}
	}})
}

func TestAConflictAfterTheWriteIsReported(t *testing.T) {
	h := &clienttest.Hoard{}
	sent := 0
	url := racing(t, h, func() {
		sent++
		h.Put(clienttest.EngramAt(t, "agent", "owner", "mem/a", "theirs", time.Now().Unix()+5))
	})
	m := agentOf(t, "agent", "owner", []string{url}, nil)
	ours, status, err := m.Set(t.Context(), "mem/a", "ours", SetOptions{})
	var conflict *client.ConflictError
	if !errors.As(err, &conflict) || !conflict.Sent || conflict.Theirs == nil || conflict.Theirs.Text != "theirs" {
		t.Fatalf("%v", err)
	}
	if ours.Text != "ours" || client.Accepted(status.Published) != 1 {
		t.Errorf("ours is %+v, %+v", ours, status)
	}
	if sent != 1 {
		t.Errorf("it was sent %d times", sent)
	}
}

// Two writers at once at the real relays: of one round at most one is told that
// it has won without being the head in the end, namely when the other one's
// write came after its check; everybody reads the same, and it is one of
// theirs.
func TestTwoWritersAtOnce(t *testing.T) {
	relays := []string{bridgetest.Start(t).URL, bridgetest.Start(t).URL}
	stopped := time.Now()
	frozen := func(o *client.Options) { o.Clock = func() time.Time { return stopped } }
	const rounds = 8
	conflicts := 0
	for round := range rounds {
		slug := nipae.Slug(fmt.Sprintf("mem/round%d", round))
		entries, errs := make([]client.Entry, 2), make([]error, 2)
		var writing sync.WaitGroup
		for w := range 2 {
			m := agentOf(t, "agent", "owner", relays, frozen)
			writing.Go(func() { entries[w], _, errs[w] = m.Set(t.Context(), slug, fmt.Sprint("writer ", w), SetOptions{}) })
		}
		writing.Wait()
		head, _, err := agentOf(t, "agent", "owner", relays, nil).Get(t.Context(), slug)
		if err != nil {
			t.Fatal(err)
		}
		won := 0
		for w, err := range errs {
			var conflict *client.ConflictError
			switch {
			case errors.As(err, &conflict):
				conflicts++
				if conflict.Theirs == nil || *conflict.Theirs != entries[1-w] {
					t.Errorf("round %d: writer %d conflicts with %+v", round, w, conflict.Theirs)
				}
				if head == entries[w] {
					t.Errorf("round %d: writer %d was told of a conflict and is the head", round, w)
				}
			case err != nil:
				t.Errorf("round %d: %v", round, err)
			case head == entries[w]:
				won++
			}
		}
		if won != 1 {
			t.Errorf("round %d: %d winners, %v", round, won, errs)
		}
	}
	t.Logf("%d conflicts in %d rounds", conflicts, rounds)
}
