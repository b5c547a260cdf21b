package clienttest

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/testkeys"
	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// Silent takes connections and says nothing, not even to a handshake.
func Silent(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var held []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			held = append(held, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range held {
			c.Close()
		}
	})
	return "ws://" + l.Addr().String()
}

// Randomness returns a stream that depends on the seed alone, so that tests
// repeat.
func Randomness(seed int64) *rand.ChaCha8 {
	var key [32]byte
	copy(key[:], fmt.Sprint(seed))
	return rand.NewChaCha8(key)
}

// MustHideSecrets fails if a text holds a secret key in a form that can be
// used.
func MustHideSecrets(t testing.TB, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		secret := testkeys.New(name).Secret
		raw, err := hex.DecodeString(secret)
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Trim(fmt.Sprint(raw), "[]")
		for _, form := range []string{secret, strings.ToUpper(secret), string(raw), list, strings.ReplaceAll(list, " ", ", ")} {
			if strings.Contains(text, form) {
				t.Errorf("the secret of %s is shown", name)
			}
		}
	}
}

// EngramAt seals a text as agent would have written it at a time.
func EngramAt(t testing.TB, agent, owner string, slug nipae.Slug, text string, at int64) *nostr.Event {
	t.Helper()
	body := nipae.NewProfile(text)
	if !slug.IsCore() {
		var err error
		if body, err = nipae.NewMemory(slug, text); err != nil {
			t.Fatal(err)
		}
	}
	return Sealed(t, agent, owner, body, at)
}

// Sealed seals a body as agent would have written it at a time.
func Sealed(t testing.TB, agent, owner string, body nipae.Body, at int64) *nostr.Event {
	t.Helper()
	secret := testkeys.New(agent).Secret
	key, err := nipae.DeriveConversationKey(secret, testkeys.New(owner).Pub)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := nipae.Seal(key, body, nipae.Sealing{Secret: secret, Owner: testkeys.New(owner).Pub, CreatedAt: at, Rand: Randomness(at)})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// RelayList returns the agent's kind 10002.
func RelayList(t testing.TB, at int64, tags ...nostr.Tag) *nostr.Event {
	t.Helper()
	ev := &nostr.Event{Kind: nostr.KindRelayListMetadata, CreatedAt: nostr.Timestamp(at), Tags: tags}
	if err := ev.Sign(testkeys.New("agent").Secret); err != nil {
		t.Fatal(err)
	}
	return ev
}

// Refusing is a relay that answers every REQ with CLOSED and every event with
// this refusal.
func Refusing(t testing.TB, message string) string {
	return Start(t, &Fake{Serve: func(c *Conn) {
		for {
			f, ok := c.Read()
			switch {
			case !ok:
				return
			case f.Label == wire.LabelReq:
				c.Send(wire.AppendClosed(nil, f.SubID, message))
			case f.Label == wire.LabelEvent:
				c.Send(wire.AppendOK(nil, f.Event.ID, false, message))
			}
		}
	}})
}
