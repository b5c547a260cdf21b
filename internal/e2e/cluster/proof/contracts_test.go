package proof

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

const contractsPath = "/api/escrow/contracts"

// api makes calls of the contract memory API at any node.
type api struct {
	t *testing.T
	c *nodes.Cluster
	n int
}

// signed returns the header of a call by a key; no two are equal.
func (a *api) signed(k relaytest.Key, method, path string, body []byte) string {
	a.n++
	return relaytest.HTTPAuthWith(k, method, "http://"+nodes.Name+path, body, time.Now().Unix(), nostr.Tag{"nonce", fmt.Sprint(a.n)})
}

func (a *api) send(node int, auth, method, path string, body []byte) (int, string) {
	resp, err := a.c.Node(node).Child().Do(method, path, body, http.Header{"Authorization": {auth}})
	if err != nil {
		a.t.Error(err)
	}
	return resp.Status, string(resp.Body)
}

// want makes a call that must be answered with this status, and returns the
// answer.
func (a *api) want(status, node int, auth func(method, path string, body []byte) string, method, path, body string) string {
	a.t.Helper()
	var raw []byte
	if body != "" {
		raw = []byte(body)
	}
	got, text := a.send(node, auth(method, path, raw), method, path, raw)
	if got != status {
		a.t.Fatalf("node %d, %s %s: %d %s, want %d", node, method, path, got, text, status)
	}
	return text
}

func (a *api) by(k relaytest.Key) func(method, path string, body []byte) string {
	return func(method, path string, body []byte) string { return a.signed(k, method, path, body) }
}

func bearer(token string) func(string, string, []byte) string {
	return func(string, string, []byte) string { return "Bearer " + token }
}

// TestContractsAcrossNodes: agents whose keys the nodes keep are created at one
// node and act at others, and all nodes show them the same, private entries
// included; of one signed call at two nodes one is accepted.
func TestContractsAcrossNodes(t *testing.T) {
	t.Parallel()
	a := &api{t: t, c: nodes.Start(t, nodes.Options{})}
	operator := a.by(nodes.ManagerKey())
	made := func(node int, auth func(string, string, []byte) string, path, body string) (out struct {
		Token string `json:"token"`
		ID    string `json:"contract_id"`
	}) {
		t.Helper()
		if err := json.Unmarshal([]byte(a.want(http.StatusCreated, node, auth, http.MethodPost, path, body)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	poster, worker := made(0, operator, "/api/identities", `{"agent_id":"buyer-1"}`), made(1, operator, "/api/identities", `{"agent_id":"maker-1"}`)
	contract := made(1, bearer(poster.Token), contractsPath, `{"worker_agent_id":"maker-1","description":"a summary","amount_sats":5000}`)
	path := contractsPath + "/" + contract.ID
	a.want(http.StatusOK, 2, bearer(worker.Token), http.MethodPost, path+"/transitions", `{"status":"accepted"}`)
	a.want(http.StatusCreated, 0, bearer(worker.Token), http.MethodPost, path+"/memory", `{"type":"message","visibility":"shared","content":"said at node 0"}`)
	a.want(http.StatusCreated, 1, bearer(poster.Token), http.MethodPost, path+"/memory", `{"type":"note","visibility":"poster_only","content":"kept at node 1"}`)
	for i := range a.c.Nodes() {
		own, other := a.want(http.StatusOK, i, bearer(poster.Token), http.MethodGet, path+"/memory", ""), a.want(http.StatusOK, i, bearer(worker.Token), http.MethodGet, path+"/memory", "")
		if !strings.Contains(own, "said at node 0") || !strings.Contains(own, "kept at node 1") || !strings.Contains(other, "said at node 0") || strings.Contains(other, "kept at node 1") {
			t.Errorf("node %d shows the poster %s, the worker %s", i, own, other)
		}
	}
	usedOnce(a)
	wantSame(t, a.c)
}

// usedOnce makes the same signed call at two nodes at once.
func usedOnce(a *api) {
	t, poster, worker := a.t, relaytest.NewKey(851), relaytest.NewKey(852)
	id, at := "25becee1-0000-4000-8000-0000000000aa", time.Now().Unix()-100
	mustStore(t, a.c.Dial(0), relaytest.State(poster, worker.Pub, id, "open", "", at), relaytest.State(worker, poster.Pub, id, "accepted", "open", at+1))
	memory := contractsPath + "/" + id + "/memory"
	for n := range 10 {
		body := fmt.Appendf(nil, `{"type":"note","visibility":"poster_only","content":"note %d"}`, n)
		auth, status := a.signed(poster, http.MethodPost, memory, body), make(chan int, 1)
		go func() {
			got, _ := a.send(1, auth, http.MethodPost, memory, body)
			status <- got
		}()
		one, _ := a.send(2, auth, http.MethodPost, memory, body)
		if two := <-status; (one == http.StatusCreated) == (two == http.StatusCreated) {
			t.Errorf("the same call was answered %d and %d", one, two)
		}
	}
	for i := range a.c.Nodes() {
		if text := a.want(http.StatusOK, i, a.by(poster), http.MethodGet, memory+"/summary", ""); !strings.Contains(text, `"total_entries":10,`) {
			t.Errorf("node %d: %s, want 10 entries", i, text)
		}
	}
}
