package session

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

// TestOnlyTheStateKnows: where the relay lost its disk and the copy is gone, what the
// state has as it was signed is told again, and the rest of what was written is counted,
// until it is given up. Nothing is attested meanwhile.
func TestOnlyTheStateKnows(t *testing.T) {
	relay, state := relaytest.Start(t, relaytest.Options{}), t.TempDir()
	they := newElsewhere(t, 7)
	s := at(t, they.owner, state, relay.URL)
	l, err := s.Copies.Open(t.Context(), s.o.Note)
	if err != nil {
		t.Fatal(err)
	}
	written, _, err := s.Memory.Set(t.Context(), "mem/c", "text", memory.SetOptions{}) // the copy has it now
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if code, _ := relay.Stop(); code != 0 {
		t.Fatal(code)
	}
	relaytest.Start(t, relaytest.Options{Listen: strings.TrimPrefix(relay.URL, "ws://")})

	o := at(t, they.owner, state, relay.URL).o // with a copy of its own
	o.Client.Clock = func() time.Time { return time.Now().Add(time.Minute) }
	if s, err = Open(o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	kept, err := s.OpenState(t.Context(), s.o.Note)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	b := they.made[2]
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Heads.Keep(t.Context(), memorystate.Head{D: b.Tags.GetD(), ID: b.ID, At: int64(b.CreatedAt), Event: text}); err != nil {
		t.Fatal(err)
	}
	look := func(want answer.State) {
		t.Helper()
		err := s.WithCopy(t.Context(), 0, func(ctx context.Context, l *Copy) error {
			state, err := l.State(ctx)
			if state.AsOf = (time.Time{}); state != want {
				t.Errorf("%+v, want %+v", state, want)
			}
			if got := held(t, l.Copy); len(got) != 1 || got[0] != "mem/b" {
				t.Errorf("%v", got)
			}
			if _, err := s.Attest(ctx, kept, hook.Continuing{N: 1}, Attestor{}); !errors.Is(err, client.ErrBehind) {
				t.Errorf("attested: %v", err)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	look(answer.State{Behind: 2, Withheld: 1, BehindAt: int64(b.CreatedAt)})
	look(answer.State{Behind: 2, Withheld: 1, BehindAt: int64(b.CreatedAt)}) // by the same file
	if status := s.Memory.Besides(t.Context(), nil, client.Status{}); status.Behind != 2 || status.Withheld != 1 {
		t.Errorf("%+v", status)
	}
	d := nipae.AddressIn(s.Memory.Conversation(), s.Memory.Agent(), they.owner, "mem/c")
	if err := kept.Heads.Lose(t.Context(), d, memorystate.Loss{At: written.CreatedAt, Why: memorystate.Accepted}); err != nil {
		t.Fatal(err)
	}
	look(answer.State{Behind: 1, BehindAt: int64(b.CreatedAt)})
}
