package rig

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// ManagerKey manages the relays of these tests.
func ManagerKey() relaytest.Key { return relaytest.NewKey(1986) }

// ManagedRelay is a relay with a managing key and its caller.
type ManagedRelay struct {
	*relaytest.Child
	T     *testing.T
	Calls *Caller
	N     int
}

func StartManaged(t *testing.T, o relaytest.Options) *ManagedRelay {
	t.Helper()
	o.Build = Watched
	o.Env = append(o.Env, "ENGRAMD_ADMIN_KEYS="+ManagerKey().Pub)
	relay := relaytest.Start(t, o)
	return &ManagedRelay{Child: relay, T: t, Calls: NewCaller(t, relay)}
}

// Sign makes the header of a call that no other call of this test has.
func (m *ManagedRelay) Sign(k relaytest.Key, url string, body []byte, at int64) string {
	m.N++
	return relaytest.HTTPAuthWith(k, http.MethodPost, url, body, at, Tag("nonce", fmt.Sprint(m.N)))
}

func (m *ManagedRelay) MustSend(auth string, body []byte) relaytest.Response {
	m.T.Helper()
	header := http.Header{"Content-Type": {"application/nostr+json+rpc"}}
	if auth != "" {
		header.Set("Authorization", auth)
	}
	resp, err := m.Calls.MustSend(http.MethodPost, "/", body, header)
	if err != nil {
		m.T.Fatal(err)
	}
	return resp
}

// Call makes a call as the manager and returns the answer's text.
func (m *ManagedRelay) Call(method string, params ...any) string {
	m.T.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		m.T.Fatal(err)
	}
	return strings.TrimSpace(string(m.MustSend(m.Sign(ManagerKey(), m.HTTP("/"), body, Now()), body).Body))
}

func (m *ManagedRelay) Want(answer, method string, params ...any) {
	m.T.Helper()
	if got := m.Call(method, params...); got != answer {
		m.T.Errorf("%s %v: %s, want %s", method, params, got, answer)
	}
}
