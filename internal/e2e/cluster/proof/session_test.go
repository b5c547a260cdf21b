package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/e2e/relaytest"
)

// TestSessions: with a token a key sees at every node what it wrote at another, or is
// told that this is not known; without one a node answers with what it has.
func TestSessions(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{Count: 2, Alone: true, Reads: "session"})
	k, calls := relaytest.NewKey(1930), 0
	// ask makes a signed call at a node, and returns the token that is given for it.
	ask := func(node int, path string, doc any, token string) (status int, answer []event, next string) {
		t.Helper()
		body, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		url := "http" + strings.TrimPrefix(c.URL(node), "ws") + path
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		calls++
		request.Header.Set("Authorization", relaytest.HTTPAuthWith(k, http.MethodPost, url, body, time.Now().Unix(), nostr.Tag{"nonce", fmt.Sprint(calls)}))
		if token != "" {
			request.Header.Set("Engramd-Session", token)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if path == "/query" && response.StatusCode == http.StatusOK {
			err = json.NewDecoder(response.Body).Decode(&answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, answer, response.Header.Get("Engramd-Session")
	}
	one := func(id string) []relaytest.Filter { return []relaytest.Filter{{"ids": []string{id}}} }
	token := ""
	for i := range 60 {
		ev := note(k, fmt.Sprint("session ", i))
		status, _, next := ask(i%2, "/events", ev, token)
		if status != http.StatusOK || next == "" {
			t.Fatalf("%d, token %q", status, next)
		}
		if status, found, again := ask((i+1)%2, "/query", one(ev.ID), next); status != http.StatusOK || len(found) != 1 || again == "" {
			t.Fatalf("%d: %d, %d events", i, status, len(found))
		}
		token = next
	}
	c.Node(1).Way.SetAll(rig.BlackHole)
	ev := note(k, "behind")
	status, _, next := 0, []event(nil), ""
	c.Until("the other node writes", wait, func() error {
		if status, _, next = ask(0, "/events", ev, ""); status != http.StatusOK {
			return fmt.Errorf("%d", status)
		}
		return nil
	})
	if status, found, _ := ask(1, "/query", one(ev.ID), ""); status != http.StatusOK || len(found) != 0 {
		t.Errorf("without a token: %d, %d events", status, len(found))
	}
	if status, _, _ := ask(1, "/query", one(ev.ID), next); status != http.StatusServiceUnavailable {
		t.Errorf("what is not here: %d", status)
	}
	if status, _, _ := ask(1, "/query", one(ev.ID), "A"+next[1:]); status != http.StatusBadRequest {
		t.Errorf("a token that nobody gave: %d", status)
	}
	c.Node(1).Way.SetAll(rig.Healed)
	c.Until("it has come", wait, func() error {
		if status, found, _ := ask(1, "/query", one(ev.ID), next); status != http.StatusOK || len(found) != 1 {
			return fmt.Errorf("%d, %d events", status, len(found))
		}
		return nil
	})
}
