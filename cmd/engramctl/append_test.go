package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/e2e/relaytest"
)

// TestTwoProcessesAppend has a server and commands of one machine add to one memory at the
// same time: each line is there once. Whoever meets the other goes on, at most as often as
// the other one writes.
func TestTwoProcessesAppend(t *testing.T) {
	const each = 15
	p := newChainedRig(t)
	c := startMCPIn(t, relaytest.Agent(), p.env, "--owner", relaytest.Owner().Pub, "--relay", p.relay.URL, "--timeout", "2m")
	served := make(chan error, 1)
	go func() {
		for i := range each {
			res, err := c.session.CallTool(t.Context(), &sdk.CallToolParams{Name: "memory_append", Arguments: map[string]any{"slug": "log", "text": fmt.Sprintf("served %02d", i)}})
			if err == nil && res.IsError {
				err = fmt.Errorf("append %d: %s", i, res.Content[0].(*sdk.TextContent).Text)
			}
			if err != nil {
				served <- err
				return
			}
		}
		served <- nil
	}()
	var want []string
	for i := range each {
		out := reply(t, p.does("", "mem", "append", "log", fmt.Sprintf("command %02d", i), "--timeout", "2m", "--json"))
		if out["queued"] != nil || out["slug"] != "mem/log" {
			t.Errorf("append %d: %v", i, out)
		}
		want = append(want, fmt.Sprintf("command %02d", i), fmt.Sprintf("served %02d", i))
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	_, body, _ := strings.Cut(strings.TrimPrefix(p.does("", "mem", "get", "log"), "---\n"), "\n---\n")
	lines := slices.Sorted(strings.Lines(body + "\n"))
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\n")
	}
	if slices.Sort(want); !slices.Equal(lines, want) {
		t.Errorf("%d of %d lines: %q", len(lines), 2*each, lines)
	}
}
