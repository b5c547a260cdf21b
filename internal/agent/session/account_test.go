package session

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/memory/verify/attestation"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

const theirLog = "0a1b2c3d"

// elsewhere is another machine, which writes a log for an owner.
type elsewhere struct {
	t     *testing.T
	owner string
	key   nipae.ConversationKey
	made  []*nostr.Event // by number
}

func newElsewhere(t *testing.T, owner uint64) *elsewhere {
	t.Helper()
	w := &elsewhere{t: t, owner: relaytest.NewKey(owner).Pub}
	var err error
	if w.key, err = nipae.DeriveConversationKey(relaytest.Agent().Secret, w.owner); err != nil {
		t.Fatal(err)
	}
	for n, slug := range []nipae.Slug{"mem/a", "mem/a", "mem/b"} { // 0 is superseded
		l := writerlog.Link{W: theirLog, N: int64(n), T: 1_700_000_000 + int64(n)}
		if n > 0 {
			l.Prev = w.made[n-1].ID
		}
		w.made = append(w.made, w.seal(slug, fmt.Sprint("text ", n), writerlog.Member, l.JSON(), l.T))
	}
	return w
}

func (w *elsewhere) seal(slug nipae.Slug, text, member string, value []byte, at int64) *nostr.Event {
	w.t.Helper()
	body, err := nipae.NewMemory(slug, text)
	if err == nil && value != nil {
		body, err = body.WithMember(member, value)
	}
	var ev *nostr.Event
	if err == nil {
		ev, err = nipae.Seal(w.key, body, nipae.Sealing{Secret: relaytest.Agent().Secret, Owner: w.owner, CreatedAt: at, Nonce: [32]byte{1, byte(at)}})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return ev
}

// unit is the log unit of the first two numbers, with their addresses or without.
func (w *elsewhere) unit(addresses bool) *nostr.Event {
	u := writerlog.Unit{W: theirLog}
	for _, ev := range w.made[:2] {
		id, _ := writerlog.ParseID(ev.ID)
		d, _ := writerlog.ParseID(ev.Tags.GetD())
		if u.IDs = append(u.IDs, id); addresses {
			u.Ds = append(u.Ds, d)
		}
	}
	return w.seal(writerlog.UnitSlug(theirLog, 0), u.Text(), writerlog.UnitMember, u.Addresses(), 1_700_000_009)
}

func publish(t *testing.T, url string, all ...*nostr.Event) {
	t.Helper()
	c, err := relaytest.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, ev := range all {
		if answer, err := c.Publish(ev); err != nil || !answer.True {
			t.Fatal(answer, err)
		}
	}
}

// at is a session for an owner with a state in a folder.
func at(t *testing.T, owner, state string, relays ...string) *Session {
	t.Helper()
	s := opened(t, t.TempDir(), relays...)
	o := s.o
	o.Owner, o.State = owner, state
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// written is how often an agent wrote if it cannot be told whether it has a core, or 0.
func written(t *testing.T, s *Session) int64 {
	t.Helper()
	_, _, err := s.Memory.CoreAbsent(t.Context())
	unaccounted, is := errors.AsType[*UnaccountedError](err)
	switch {
	case is && errors.Is(err, client.ErrBehind):
		return unaccounted.Written
	case err != nil:
		t.Fatal(err)
	}
	return 0
}

// TestOtherMachines: a core is absent where relays account for all that other machines
// wrote; what they showed once is remembered.
func TestOtherMachines(t *testing.T) {
	relay, bare := relaytest.Start(t, relaytest.Options{}), relaytest.Start(t, relaytest.Options{Args: []string{"--history-versions", "0"}})
	down := "ws://127.0.0.1:1"
	for i, c := range []struct {
		name   string
		events func(w *elsewhere) []*nostr.Event
		relays []string
		want   int64
	}{
		{"nothing is known", func(*elsewhere) []*nostr.Event { return nil }, []string{relay.URL}, 0},
		{"heads and history", func(w *elsewhere) []*nostr.Event { return w.made }, []string{relay.URL}, 0},
		{"no history", func(w *elsewhere) []*nostr.Event { return w.made }, []string{bare.URL}, 3},
		{"a unit with addresses", func(w *elsewhere) []*nostr.Event { return append(w.made[1:3:3], w.unit(true)) }, []string{bare.URL}, 0},
		{"a unit without", func(w *elsewhere) []*nostr.Event { return append(w.made[1:3:3], w.unit(false)) }, []string{bare.URL}, 3},
		{"a unit alone", func(w *elsewhere) []*nostr.Event { return []*nostr.Event{w.unit(false)} }, []string{bare.URL}, 2},
		{"a gap", func(w *elsewhere) []*nostr.Event { return []*nostr.Event{w.made[0], w.made[2]} }, []string{relay.URL}, 3},
		{"one relay of two answers", func(w *elsewhere) []*nostr.Event { return w.made }, []string{relay.URL, down}, 3},
		{"no log", func(w *elsewhere) []*nostr.Event {
			return []*nostr.Event{w.seal("mem/c", "text", "", nil, 1_700_000_000)}
		}, []string{relay.URL}, 0},
	} {
		w := newElsewhere(t, uint64(1000+i))
		publish(t, c.relays[0], c.events(w)...)
		if got := written(t, at(t, w.owner, t.TempDir(), c.relays...)); got != c.want {
			t.Errorf("%s: written %d times, want %d", c.name, got, c.want)
		}
	}

	w, kept := newElsewhere(t, 1100), t.TempDir()
	publish(t, relay.URL, w.made[:2]...)
	publish(t, bare.URL, w.made[2])
	s := at(t, w.owner, kept, relay.URL)
	if _, _, err := s.Memory.Set(t.Context(), "mem/mine", "text", memory.SetOptions{}); err != nil || written(t, s) != 0 {
		t.Fatal(err, written(t, s))
	}
	if got := written(t, at(t, w.owner, kept, bare.URL)); got != 0 {
		t.Errorf("what was shown once is forgotten: %d", got)
	}
	if got := written(t, at(t, w.owner, t.TempDir(), bare.URL)); got != 3 {
		t.Errorf("another machine: %d", got)
	}
	// The agent signed that this log was longer; another log may be another pair's.
	for i, log := range []string{"99999999", theirLog} {
		ev := attestation.Attestation{W: log, N: 7, At: 1_700_000_100}.Event()
		if err := ev.Sign(relaytest.Agent().Secret); err != nil {
			t.Fatal(err)
		}
		publish(t, bare.URL, ev)
		if got := written(t, at(t, w.owner, kept, bare.URL)); got != int64(8*i) { // 7 of theirs, 1 of ours
			t.Errorf("attested of %s: %d", log, got)
		}
	}
}

// TestOwnCore: on a relay that shows nothing a core is absent if this machine wrote
// other things alone, and not once it wrote one, until that loss is accepted.
func TestOwnCore(t *testing.T) {
	relay, emptied := relaytest.Start(t, relaytest.Options{}), relaytest.Start(t, relaytest.Options{})
	owner, kept := relaytest.NewKey(1200).Pub, t.TempDir()
	s := at(t, owner, kept, relay.URL)
	set := func(slug nipae.Slug) {
		t.Helper()
		if _, _, err := s.Memory.Set(t.Context(), slug, "text", memory.SetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	set("mem/a")
	if got := written(t, at(t, owner, kept, emptied.URL)); got != 0 {
		t.Errorf("it wrote no core: %d", got)
	}
	set("core")
	lost := at(t, owner, kept, emptied.URL)
	if got := written(t, lost); got != 2 {
		t.Errorf("it wrote a core: %d", got)
	}
	state, err := lost.OpenState(context.Background(), func(line string) { t.Error(line) })
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	d := nipae.AddressIn(lost.Memory.Conversation(), lost.Memory.Agent(), owner, nipae.Core)
	known, err := state.Heads.At(t.Context(), d)
	if _, ok := writerlog.ParseID(d); err != nil || !ok || known.Head.At == 0 {
		t.Fatal(known, err)
	}
	for _, c := range []struct {
		loss memorystate.Loss
		want int64
	}{
		{memorystate.Loss{At: known.Head.At - 1, Why: memorystate.Accepted}, 2},
		{memorystate.Loss{Relay: emptied.URL, At: known.Head.At, Why: memorystate.Removed}, 2},
		{memorystate.Loss{At: known.Head.At, Why: memorystate.Accepted}, 0},
	} {
		if err := state.Heads.Lose(t.Context(), d, c.loss); err != nil {
			t.Fatal(err)
		}
		if got := written(t, lost); got != c.want {
			t.Errorf("%+v: %d, want %d", c.loss, got, c.want)
		}
	}
	// A newer one of another machine, which this one saw.
	for _, h := range []memorystate.Head{{At: known.Head.At + 1}, {At: known.Head.At + 2, Expires: 1}} {
		h.D, h.ID, h.Event = d, known.Head.ID, []byte("{}")
		if err := state.Heads.Keep(t.Context(), h); err != nil {
			t.Fatal(err)
		}
		if got, want := written(t, lost), map[bool]int64{true: 2}[h.Expires == 0]; got != want {
			t.Errorf("%+v: %d, want %d", h, got, want)
		}
	}
}
