package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/cli/root"
	"engramd/internal/cli/settings"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/quote"
)

// fakeModel serves vectors in which "ship" and "vessel" are equal.
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
			vector := fmt.Sprintf("%d,%d", strings.Count(text, "ship")+strings.Count(text, "vessel")+strings.Count(text, "boat"), strings.Count(text, "cat"))
			sum := sha256.Sum256([]byte(text)) // texts that have nothing to do with each other are far apart
			for _, b := range sum[:8] {
				vector += fmt.Sprintf(",%v", 0.1*float64(int(b&1)*2-1))
			}
			parts = append(parts, fmt.Sprintf(`{"index":%d,"embedding":[%s]}`, i, vector))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(parts, ","))
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// TestMCPComparesMeaning: where a model is configured, memory_recall finds
// texts without any of the question's words; when the model fails, words are
// still compared, and the answer says so.
func TestMCPComparesMeaning(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{}).URL
	url, asked := fakeModel(t)
	owner := settings.Npub(relaytest.Owner().Pub)
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
	c := startMCP(t, relaytest.Agent(), "--owner", settings.Npub(relaytest.Owner().Pub), "--relay", relay, "--embed-url", gone.URL, "--embed-model", "m")
	c.call("memory_write", map[string]any{"slug": "mem/b", "text": "The cat sleeps."}, false)
	if got := c.call("memory_recall", map[string]any{"query": "cat"}, false); !strings.Contains(got, `"degraded":true`) || !strings.Contains(got, "mem/b") {
		t.Errorf("recalled %s", got)
	}
}

// TestRecallAsksModels: a recall asks the models that are configured, each with
// its own key, and no other; a failure is reported, and words are still
// compared.
func TestRecallAsksModels(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{}).URL
	url, asked := fakeModel(t)
	var keys, queries []string
	order := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Query     string
			Documents []string
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		keys, queries = append(keys, r.Header.Get("Authorization")), append(queries, in.Query)
		var parts []string
		for i, text := range in.Documents {
			parts = append(parts, fmt.Sprintf(`{"index":%d,"relevance_score":%d}`, i, strings.Count(text, "cat")))
		}
		fmt.Fprintf(w, `{"results":[%s]}`, strings.Join(parts, ","))
	}))
	t.Cleanup(order.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	pair := []string{"--owner", settings.Npub(relaytest.Owner().Pub), "--relay", relay}
	env := []string{"ENGRAM_KEY=" + relaytest.Agent().Secret, "ENGRAM_EMBED_KEY=first", "ENGRAM_RERANK_KEY=second", "XDG_CACHE_HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir()}
	run := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errs strings.Builder
		m := &root.Main{Args: append(args, pair...), Env: env, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Slack: slack}
		if code := m.Run(t.Context()); code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs.String())
		}
		return out.String(), errs.String()
	}
	run("mem", "set", "a", "The vessel was repaired in May.")
	run("mem", "set", "b", "The ship has a cat.")
	if out, _ := run("recall", "ship"); !strings.Contains(out, "mem/b") || asked.Load() > 0 || len(keys) > 0 {
		t.Errorf("recalled %s; models were asked %d and %d times", out, asked.Load(), len(keys))
	}
	if out, errs := run("recall", "boat", "--embed-url", url, "--embed-model", "m"); !strings.Contains(out, "mem/a (observed; ") || !strings.Contains(out, "meaning") || errs != "" {
		t.Errorf("recalled %s%s", out, errs)
	}
	out, errs := run("recall", "ship vessel", "--rerank-url", order.URL, "--rerank-model", "m")
	if !strings.HasPrefix(out, quote.Mixed+"## mem/b ") || errs != "" {
		t.Errorf("recalled %s%s", out, errs)
	}
	if fmt.Sprint(keys, queries) != "[Bearer second] [ship vessel]" {
		t.Errorf("asked with %q for %q", keys, queries)
	}
	out, errs = run("recall", "ship vessel", "--rerank-url", gone.URL, "--rerank-model", "m", "--embed-url", gone.URL, "--embed-model", "m")
	if !strings.Contains(out, "mem/a") || !strings.Contains(errs, "model for meaning fails") || !strings.Contains(errs, "puts results in order fails") || strings.Contains(errs, "second") {
		t.Errorf("recalled %s%s", out, errs)
	}
}
