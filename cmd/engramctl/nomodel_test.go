package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"engramd/internal/cli/settings"
	"engramd/internal/e2e/relaytest"
)

// TestNoModelUnlessNamed: recall, search and write ask no model server as long
// as no URL is configured, even with keys, model names and other programs'
// variables set.
func TestNoModelUnlessNamed(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{}).URL
	url, asked := fakeModel(t)
	home := t.TempDir()
	key := filepath.Join(home, "secret.key")
	if err := os.WriteFile(key, []byte(relaytest.Agent().Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "ENGRAM_KEY_FILE=" + key, "ENGRAM_OWNER=" + settings.Npub(relaytest.Owner().Pub), "ENGRAM_RELAYS=" + relay,
		"ENGRAM_EMBED_KEY=first", "ENGRAM_RERANK_KEY=second"}
	for _, name := range []string{"ENGRAM_EMBED_URL", "ENGRAM_RERANK_URL", "OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_HOST", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"} {
		env = append(env, name+"="+url)
	}
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command("engramctl", args...)
		c.Env = append(relaytest.CleanEnv(), env...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	named := []string{"--embed-model", "m", "--rerank-model", "m"}
	for _, c := range [][]string{
		{"mem", "set", "ana", "Ana repairs the old ship in the harbour."}, {"mem", "set", "ben", "Ben sails. [[mem/ana]]"}, {"note", "Ana chose the sails."},
		{"mem", "link", "ben", "supports", "ana"}, {"mem", "mv", "ben", "benjamin", "--mend-links"}, {"mem", "search", "ships"}, {"mem", "stats"}, {"mem", "graph"}, {"mem", "timeline"}, {"mem", "ls"},
		{"recall", "who repairs the ship?"}, {"recall", "who repairs the ship?", "--json"}, {"recall", "who repairs the ship?", "--no-mirror"},
		append([]string{"recall", "who repairs the ship?"}, named...),
	} {
		if out := run(c...); c[0] == "recall" && !strings.Contains(out, "mem/ana") {
			t.Errorf("%v: %s", c, out)
		}
	}

	type args = map[string]any
	server := startMCPIn(t, relaytest.Agent(), env, append([]string{"--tools", "memory,files"}, named...)...)
	for _, c := range []struct {
		tool string
		args args
	}{
		{"memory_write", args{"slug": "cat", "text": "The cat of the harbour sleeps on the ship."}},
		{"memory_note", args{"text": "The cat slept."}},
		{"memory_recall", args{"query": "who repairs the ship?"}},
		{"memory_search", args{"query": "ship"}},
		{"memory_list", args{}},
		{"memory_read", args{"slug": "cat"}},
		{"memory_stats", args{}},
		{"memory_edit", args{"slug": "cat", "old_str": "sleeps", "new_str": "lies"}},
		{"memory", args{"command": "view", "path": "/memories"}},
		{"memory", args{"command": "create", "path": "/memories/dog.md", "file_text": "The dog of the harbour barks at the ship."}},
	} {
		server.call(c.tool, c.args, false)
	}
	server.stdin.Close()
	server.ended()
	if n := asked.Load(); n != 0 {
		t.Errorf("a model was asked %d times, though no URL names one", n)
	}
	// A request would have been noticed.
	if run("recall", "ship", "--embed-url", url, "--embed-model", "m"); asked.Load() == 0 {
		t.Error("the model that is named was not asked")
	}
}
