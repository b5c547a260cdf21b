package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"engramd/internal/agent/mcp"
	"engramd/internal/e2e/relaytest"
)

// maxTools is what the tools may cost in the context of every session.
const maxTools = 6000

// TestToolsAreFew: what the program answers to tools/list by default, without what is
// kept from models, is small, also where its hints are longest.
func TestToolsAreFew(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{})
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"default":     {nil, append(slices.Clone(mcp.OwnTools), "memory_proposal", "mind_commit")},
		"without one": {[]string{"--tools", "memory"}, append(slices.Clone(mcp.OwnTools), "memory_proposal")},
		"of setup":    {[]string{"--tools", "memory,mind"}, append(slices.Clone(mcp.OwnTools), "memory_proposal", "mind_commit")},
	} {
		child := startMCP(t, relaytest.Agent(), append([]string{"--owner", relaytest.Owner().Pub, "--relay", relay.URL}, c.args...)...)
		if _, err := child.session.ListTools(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines([]byte(child.stdout.String())) {
			var answer struct {
				Result map[string]json.RawMessage `json:"result"`
			}
			var tools []map[string]json.RawMessage
			if json.Unmarshal(line, &answer) != nil || json.Unmarshal(answer.Result["tools"], &tools) != nil {
				continue
			}
			var names []string
			whole := len(bytes.TrimSpace(line))
			for _, tool := range tools {
				var one string
				if err := json.Unmarshal(tool["name"], &one); err != nil {
					t.Fatal(err)
				}
				names = append(names, one)
				if out := tool["outputSchema"]; out != nil {
					whole -= len(out) + len(`"outputSchema":,`)
				}
			}
			slices.Sort(names)
			if slices.Sort(c.want); !slices.Equal(names, c.want) {
				t.Errorf("%s: %q", name, names)
			}
			if t.Logf("%s: %d tools, %d bytes", name, len(names), whole); whole > maxTools || whole < 1000 {
				t.Errorf("%s: the answer has %d bytes without output schemas, for at most %d", name, whole, maxTools)
			}
		}
	}
}
