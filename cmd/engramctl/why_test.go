package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestWhyIsOne: the command and the MCP action say the same of what hooks told a session,
// and neither has a word of the texts. The action means its own session first.
func TestWhyIsOne(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	r := newHookRig(t, relay.URL)
	r.plant(relay.URL, planted)
	for _, session := range []string{"a", "b"} {
		for _, event := range []string{"session-start", "prompt"} {
			r.hook("generic", event, fmt.Sprintf(`{"session_id":%q,"cwd":%q,"prompt":"When does Ana paint the boats?"}`, session, r.folder))
		}
	}
	server := startMCPIn(t, relaytest.Agent(), r.env, "--owner", relaytest.Owner().Pub, "--relay", relay.URL)
	for _, c := range []struct {
		args  []string
		in    map[string]any
		turns int
	}{
		{nil, map[string]any{}, 2},
		{[]string{"--session", "a"}, map[string]any{"id": "a"}, 2},
		{[]string{"--session", "a", "--prompt", "0"}, map[string]any{"id": "a", "prompt": 0}, 1},
		{[]string{"--prompt", "1"}, map[string]any{"prompt": "1"}, 1},
	} {
		got := r.run(nil, append([]string{"why", "--json"}, c.args...)...)
		c.in["action"] = "why"
		text := server.call("memory_more", c.in, false)
		var command, tool struct {
			Session string
			Turns   []struct {
				Prompt         int64
				Time           string
				Told, Withheld []struct {
					Slug, Version, Reason string
					Replaced              bool
				}
			}
		}
		if json.Unmarshal([]byte(got.stdout), &command) != nil || json.Unmarshal([]byte(text), &tool) != nil || !reflect.DeepEqual(command, tool) || len(tool.Turns) != c.turns {
			t.Errorf("%q: %+v\nand the tool\n%s", c.args, got, text)
		}
		if strings.Contains(text, "Sami") || strings.Contains(text, "in spring") || !strings.Contains(text, `"reason":`) {
			t.Errorf("the tool answers\n%s", text)
		}
	}
	for n, in := range []map[string]any{{"id": "c"}, {"prompt": 9}} {
		in["action"] = "why"
		args := [][]string{{"--session", "c"}, {"--prompt", "9"}}[n]
		if got, text := r.run(nil, append([]string{"why"}, args...)...), server.call("memory_more", in, true); got.code == 0 || !strings.HasPrefix(text, "not_found: ") || !strings.Contains(got.stderr, "nothing is known of ") || !strings.Contains(text, "nothing is known of ") {
			t.Errorf("%q: %+v\nand the tool\n%s", args, got, text)
		}
	}
	_ = server.session.Close()
	server.ended()
	server = startMCPIn(t, relaytest.Agent(), append(r.env, "CLAUDE_CODE_SESSION_ID=a"), "--owner", relaytest.Owner().Pub, "--relay", relay.URL)
	for session, in := range map[string]map[string]any{"a": {}, "b": {"id": "b"}} {
		in["action"] = "why"
		if text := server.call("memory_more", in, false); !strings.HasPrefix(text, fmt.Sprintf(`{"session":%q,`, session)) {
			t.Errorf("in session a, %v answers\n%s", in, text)
		}
	}
	_ = server.session.Close()
	server.ended()
}
