package rig

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// ContractAgent acts over HTTP with its own key, or with a token for a key that
// the relay keeps.
type ContractAgent struct {
	Key   relaytest.Key // Secret is "" when the relay keeps it
	Token string
}

// ContractCalls makes calls of the contract memory API.
type ContractCalls struct {
	*Caller
	T *testing.T
	n int
}

// Call sends a request and returns its status and answer.
func (c *ContractCalls) Call(a *ContractAgent, method, path string, body any) (int, []byte) {
	c.T.Helper()
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			c.T.Fatal(err)
		}
	}
	header := http.Header{}
	switch {
	case a == nil:
	case a.Token != "":
		header.Set("Authorization", "Bearer "+a.Token)
	default:
		c.n++ // or two calls that are the same would be one
		header.Set("Authorization", relaytest.HTTPAuthWith(a.Key, method, c.Relay.HTTP(path), raw, Now(), Tag("nonce", fmt.Sprint(c.n))))
	}
	resp, err := c.MustSend(method, path, raw, header)
	if err != nil {
		c.T.Fatal(err)
	}
	return resp.Status, resp.Body
}

// Want makes a call, wants a status and reads the answer into v unless it is nil.
func (c *ContractCalls) Want(status int, a *ContractAgent, method, path string, body, v any) {
	c.T.Helper()
	got, text := c.Call(a, method, path, body)
	if got != status {
		c.T.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	if v == nil {
		return
	}
	if err := json.Unmarshal(text, v); err != nil {
		c.T.Fatalf("%s: %v", text, err)
	}
}

// ContractEntry is what these tests look at of an entry.
type ContractEntry struct {
	ID      string  `json:"entry_id"`
	Type    string  `json:"type"`
	Content string  `json:"content"`
	Event   *string `json:"nostr_event_id"`
}

func (c *ContractCalls) Thread(a *ContractAgent, id string) []ContractEntry {
	c.T.Helper()
	var page struct{ Entries []ContractEntry }
	c.Want(http.StatusOK, a, http.MethodGet, ContractsPath+"/"+id+"/memory", nil, &page)
	return page.Entries
}

// The steps of the published example, by the poster and by the worker in turn.
var ExampleSteps = []struct{ Typ, Visibility, Text string }{
	{"message", "shared", "Focus on government filings from the last 7 days"},
	{"message", "shared", "Understood"},
	{"note", "poster_only", "verify this against our archive before approving"},
	{"deliverable", "shared", "The summary"},
}

// WantExample compares what a contract tells with the published table.
func (c *ContractCalls) WantExample(poster, worker, stranger *ContractAgent, posterName, workerName, id string) {
	c.T.Helper()
	var s GateSummary
	c.Want(http.StatusOK, poster, http.MethodGet, ContractsPath+"/"+id+"/memory/summary", nil, &s)
	if s.Total != 4 || s.Published != 3 || !maps.Equal(s.ByType, map[string]int{"message": 2, "note": 1, "deliverable": 1}) ||
		!maps.Equal(s.ByAuthor, map[string]int{posterName: 2, workerName: 2}) ||
		!maps.Equal(s.ByVisibility, map[string]int{"shared": 3, "poster_only": 1}) {
		c.T.Errorf("the poster's summary: %+v", s)
	}
	for name, who := range map[string]*ContractAgent{"worker": worker, "stranger": stranger, "nobody": nil} {
		thread := c.Thread(who, id)
		texts := []string{}
		for _, e := range thread {
			texts = append(texts, e.Content)
			if e.Event == nil {
				c.T.Errorf("the %s sees an entry that is not published: %+v", name, e)
			}
		}
		if want := []string{ExampleSteps[0].Text, ExampleSteps[1].Text, ExampleSteps[3].Text}; !slices.Equal(texts, want) {
			c.T.Errorf("the %s reads %q", name, texts)
		}
	}
	relay := Dial(c.T, c.Relay)
	got := relay.MustQuery(relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{id}})
	heads := map[string]bool{}
	for _, ev := range got.Events {
		heads[ev.PubKey] = true
		if ok, err := ev.CheckSignature(); !ok || err != nil {
			c.T.Errorf("signature of %s: %v", ev.ID, err)
		}
	}
	thread := c.Thread(nil, id)
	newest := []string{*thread[2].Event, *thread[0].Event}
	if len(heads) != 2 || !slices.Equal(got.IDs(), newest) {
		c.T.Errorf("the relay has %v, want the latest of each: %v", Short(got.IDs()), Short(newest))
	}
}
