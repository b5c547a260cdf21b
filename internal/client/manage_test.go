package client_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/e2e/testkeys"
)

// answering is a relay that answers every HTTP request with this status, type
// and body.
func answering(t *testing.T, status int, kind, body string) string {
	t.Helper()
	return serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

func serving(t *testing.T, serve http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(serve)
	t.Cleanup(s.Close)
	return "ws" + strings.TrimPrefix(s.URL, "http")
}

func clientOf(t *testing.T, name string, relays ...string) *client.Client {
	t.Helper()
	id := client.Identity{}
	if name != "" {
		var err error
		if id, err = client.NewIdentity(testkeys.New(name).Secret); err != nil {
			t.Fatal(err)
		}
	}
	c := client.New(id, client.Options{Relays: relays, Timeout: time.Minute})
	t.Cleanup(c.Close)
	return c
}

// TestManageSignsWhatItSends: a signature is for this URL and this body, and
// made anew for each call.
func TestManageSignsWhatItSends(t *testing.T) {
	ids := map[string]bool{}
	url := ""
	url = serving(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Authorization"), "Nostr "))
		var ev nostr.Event
		ok := json.Unmarshal(raw, &ev) == nil
		good, _ := ev.CheckSignature()
		u, payload := ev.Tags.Find("u"), ev.Tags.Find("payload")
		if !ok || !good || ev.Kind != 27235 || ev.PubKey != testkeys.New("operator").Pub || ids[ev.ID] || u == nil || payload == nil ||
			u[1] != "http"+strings.TrimPrefix(url, "ws") || payload[1] != client.Hash(string(body)) ||
			r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/nostr+json+rpc" {
			t.Errorf("%s %s %v", r.Method, raw, r.Header)
		}
		ids[ev.ID] = true
		fmt.Fprintf(w, `{"result":%s}`, body)
	})
	c := clientOf(t, "operator", url)
	for range 2 {
		got, err := c.Manage(t.Context(), "banpubkey", "<k>", 7)
		if err != nil || string(got) != `{"method":"banpubkey","params":["<k>",7]}` {
			t.Errorf("%s, %v", got, err)
		}
	}
	if got, err := c.Manage(t.Context(), "stats"); err != nil || string(got) != `{"method":"stats","params":[]}` {
		t.Errorf("%s, %v", got, err)
	}
}

// TestManageAnswers: any answer of a relay is a result or one of the errors.
func TestManageAnswers(t *testing.T) {
	const rpc = "application/nostr+json+rpc"
	for _, c := range []struct {
		status     int
		kind, body string
		want       error
	}{
		{200, "application/json", `{"result":true}`, nil},
		{200, rpc, `{"result":null,"error":""}`, nil},
		{200, "text/plain; charset=utf-8", ` {"result":[]} `, nil},
		{400, "application/json", `{"error":"invalid: no"}`, client.ErrInvalid},
		{401, "application/json", `{"error":"auth-required: no"}`, client.ErrAuth},
		{403, "application/json", `{"error":"restricted: no"}`, client.ErrAuth},
		{429, "application/json", `{"error":"rate-limited: no"}`, client.ErrRefused},
		{503, "application/json", `{"error":"error: no"}`, client.ErrRefused},
		{200, rpc, `{"error":"restricted: no"}`, client.ErrAuth},
		{200, rpc, `{"error":"invalid: no"}`, client.ErrInvalid},
		{200, rpc, `{"result":true,"error":"something"}`, client.ErrRefused},
		{200, rpc, `{}`, client.ErrNoManagement}, {200, rpc, `[]`, client.ErrNoManagement}, {200, rpc, ``, client.ErrNoManagement}, {200, rpc, `{"result":`, client.ErrNoManagement},
		{200, "text/html", "<html>", client.ErrNoManagement},
		{200, "text/html", strings.Repeat("x", 1<<20), client.ErrNoManagement},
		{404, "application/json", `{"error":"invalid: there is nothing"}`, client.ErrNoManagement},
		{405, "text/plain", "no", client.ErrNoManagement}, {426, "text/plain", "no", client.ErrNoManagement}, {302, "text/plain", "", client.ErrNoManagement},
		{200, "application/json", `{"supported_nips":[1],"name":"a relay"}`, client.ErrNoManagement},
	} {
		_, err := clientOf(t, "operator", answering(t, c.status, c.kind, c.body)).Manage(t.Context(), "x")
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%d %s %.40s: %v, want %v", c.status, c.kind, c.body, err, c.want)
		}
	}
	for _, relays := range [][]string{nil, {"ws://127.0.0.1:1", "ws://127.0.0.1:2"}} {
		if _, err := clientOf(t, "operator", relays...).Manage(t.Context(), "x"); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%d relays: %v", len(relays), err)
		}
	}
	const secret = "\x1b[2J"
	_, err := clientOf(t, "operator", answering(t, 400, rpc, `{"error":"invalid: \u001b[2J"}`)).Manage(t.Context(), "x")
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a relay's words steer the terminal: %q", err)
	}
}

// TestClaimKeyBelievesNothing: a key that is not the agent's is refused, and a
// token is sent to one relay only, over an encrypted connection.
func TestClaimKeyBelievesNothing(t *testing.T) {
	agent, other := testkeys.New("agent"), testkeys.New("other")
	nsec := nsecFor(t, agent.Secret)
	const token = "engramd_agent_x"
	claim := func(relays ...string) (string, error) {
		secret, _, _, err := contract.Of(clientOf(t, "", relays...)).ClaimKey(t.Context(), "agent-0000", token)
		return secret, err
	}
	serve := func(body string) string {
		return serving(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet { // the probe whether the API exists
				if r.Header.Get("Authorization") != "" {
					t.Errorf("a question that needs no proof has %q", r.Header.Get("Authorization"))
				}
				io.WriteString(w, `{"contracts":[]}`)
				return
			}
			if r.Header.Get("Authorization") != "Bearer "+token {
				t.Errorf("authorization %q", r.Header.Get("Authorization"))
			}
			io.WriteString(w, body)
		})
	}
	id := func(pubkey, nsec string) string {
		return fmt.Sprintf(`{"agent_id":"agent-0000","pubkey":%q,"provisioned":false,"nsec":%q}`, pubkey, nsec)
	}
	if secret, err := claim(serve(id(agent.Pub, nsec))); err != nil || secret != agent.Secret {
		t.Fatalf("%v", err)
	}
	for _, body := range []string{id(other.Pub, nsec), id(agent.Pub, ""), id(agent.Pub, agent.Secret), id(agent.Pub, nsec[:62]+"q"), id("x", nsec), `{}`, `[]`} {
		if secret, err := claim(serve(body)); !errors.Is(err, client.ErrMisbehaved) || secret != "" || strings.Contains(err.Error(), nsec[:20]) {
			t.Errorf("%s: %v", body, err)
		}
	}
	for relay, want := range map[string]error{"ws://relay.example": client.ErrCleartext, "ws://127.0.0.1.example.com": client.ErrCleartext, "ws://10.0.0.1": client.ErrCleartext} {
		if _, err := claim(relay); !errors.Is(err, want) {
			t.Errorf("%s: %v", relay, err)
		}
	}
	if _, err := claim("ws://127.0.0.1:1", "ws://127.0.0.1:2"); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("two relays: %v", err)
	}
}

func nsecFor(t *testing.T, secret string) string {
	t.Helper()
	text, err := nip19.EncodePrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
