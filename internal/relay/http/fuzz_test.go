package relayhttp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
)

// FuzzAuthorization: no header is let in but one that this request was signed
// with, and none stops the relay.
func FuzzAuthorization(f *testing.F) {
	s := signatures{relay.Names{"wss://relay.example"}, storetest.NewClock().Now}
	good := authorization(agent, storetest.Start, "POST", "https://relay.example/query", []byte("x"))
	for _, seed := range []string{good, good[:len(good)-1], "Nostr ", "Nostr e30=", "nostr " + good[6:], strings.Replace(good, "A", "B", 1), "Basic x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		by, err := s.check([]string{header}, "POST", "/query", "")
		if err != nil {
			if by.pubkey != "" || err.Error() == "" {
				t.Fatalf("%q: %v, %v", header, by, err)
			}
			return
		}
		ev, err := authorizationEvent([]string{header})
		if err != nil || wire.Verify(ev) != nil || by.pubkey != ev.PubKey || ev.Kind != 27235 {
			t.Fatalf("%q is let in as %s: %v", header, by.pubkey, err)
		}
		if by.covers([]byte("another body")) == nil {
			t.Fatalf("%q is good for every body", header)
		}
	})
}

// FuzzCalls: any body and any query string, signed, is answered with JSON and
// one of the listed statuses.
func FuzzCalls(f *testing.F) {
	for _, seed := range []string{"", "[]", anything, `[{"ids":[]}]`, `{"id":1}`, "\xff", "kind=1&author=" + agent.Pub, "kind=1&kind=1", "a=%zz", text(agent.Sign(1, 0, "x"))} {
		f.Add([]byte(seed))
	}
	s := signatures{relay.Names{"wss://relay.example"}, storetest.NewClock().Now}
	h := New(Options{Relay: &fakeRelay{}, Socket: http.HandlerFunc(socket), Backend: &failing{err: store.ErrTimeout, answer: relay.Answer{OK: true}}, Names: s.names, Clock: s.clock})
	w := &world{Handler: h, clock: storetest.NewClock(), url: "https://relay.example"}
	known := []int{200, 400, 503}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, path := range []string{"/events", "/query", "/count"} {
			if rec := w.ask(agent, "POST", path, string(in)); !slices.Contains(known, rec.Code) || !json.Valid(rec.Body.Bytes()) {
				t.Fatalf("%s %q: %d %s", path, in, rec.Code, rec.Body)
			}
		}
		if _, err := historyQuery(string(in)); err != nil && strings.ContainsAny(err.Error(), "\x00\xff") {
			t.Fatalf("%q: %v", in, err)
		}
	})
}
