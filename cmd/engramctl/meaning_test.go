package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

// fakeModel serves vectors in which a ship and a vessel are the same.
func fakeModel(t *testing.T) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		var in struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		var parts []string
		for i, text := range in.Input {
			text = strings.ToLower(text)
			parts = append(parts, fmt.Sprintf(`{"index":%d,"embedding":[%d,%d,0.1]}`, i, strings.Count(text, "ship")+strings.Count(text, "vessel"), strings.Count(text, "cat")))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(parts, ","))
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// TestMCPComparesMeaning: where a model is named, memory_recall finds what has
// none of the question's words; where it fails, words stay, and it is said.
func TestMCPComparesMeaning(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{}).URL
	url, asked := fakeModel(t)
	owner := npub(relaytest.Owner().Pub)
	c := startMCP(t, relaytest.Agent(), "--owner", owner, "--relay", relay, "--embed-url", url, "--embed-model", "m")
	c.call("memory_write", map[string]any{"slug": "mem/a", "text": "The vessel was repaired in May."}, false)
	c.call("memory_write", map[string]any{"slug": "mem/b", "text": "The cat sleeps."}, false)
	for until := time.Now().Add(relaytest.Patience); ; {
		got := c.call("memory_recall", map[string]any{"query": "ship"}, false)
		if strings.Contains(got, "mem/a") && strings.Contains(got, "meaning") {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("recalled %s\n%s", got, c.stderr)
		}
	}
	if asked.Load() == 0 {
		t.Error("the model was not asked")
	}
	if got := c.call("memory_recall", map[string]any{"query": "cat"}, false); strings.Contains(got, `"degraded":true`) || !strings.Contains(got, "mem/b") {
		t.Errorf("recalled %s", got)
	}
}

func TestMCPWithoutItsModel(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{}).URL
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	c := startMCP(t, relaytest.Agent(), "--owner", npub(relaytest.Owner().Pub), "--relay", relay, "--embed-url", gone.URL, "--embed-model", "m")
	c.call("memory_write", map[string]any{"slug": "mem/b", "text": "The cat sleeps."}, false)
	if got := c.call("memory_recall", map[string]any{"query": "cat"}, false); !strings.Contains(got, `"degraded":true`) || !strings.Contains(got, "mem/b") {
		t.Errorf("recalled %s", got)
	}
}
