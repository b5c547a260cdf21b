package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolsThatSay are the calls of MCP tools that can say "absent". absent is a
// part of the answer then or, with ":", the code of the error.
var toolsThatSay = []struct {
	tool   string
	args   map[string]any
	absent string
}{
	{"memory_list", map[string]any{}, `"entries":[]`},
	{"memory_read", map[string]any{"slug": "notes"}, "not_found:"},
	{"memory_read", map[string]any{"slug": "core"}, "not_found:"},
	{"memory_read", map[string]any{"slug": "notes", "version": "now"}, "not_found:"},
	{"memory_search", map[string]any{"query": current + " " + stale}, `"hits":[]`},
	{"memory_history", map[string]any{"slug": "notes"}, "not_found:"},
}

// wantTools has an MCP client call every tool that can say "absent".
func (p *places) wantTools(t *testing.T, c cell, wrong wrongly) {
	session := p.serve(t, c.relays, wrong)
	if session == nil {
		return
	}
	defer session.Close()
	var all sync.WaitGroup
	for _, q := range toolsThatSay {
		all.Go(func() {
			res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: q.tool, Arguments: q.args})
			if err != nil {
				wrong("%s %v: %v", q.tool, q.args, err)
				return
			}
			text := res.Content[0].(*sdk.TextContent).Text
			want := []string{fmt.Sprintf(`"partial":%v`, c.partial)}
			switch {
			case c.found != "" && q.tool == "memory_list":
				want = append(want, `"slug":"core"`, `"slug":"mem/notes"`)
			case c.found != "":
				want = append(want, c.found)
			case c.partial:
				want = []string{"partial:"}
			case strings.HasSuffix(q.absent, ":"):
				want = []string{q.absent}
			default:
				want = append(want, q.absent)
			}
			for _, w := range want {
				if !strings.Contains(text, w) || res.IsError != strings.HasSuffix(w, ":") {
					wrong("%s %v lacks %q: %s", q.tool, q.args, w, text)
				}
			}
		})
	}
	all.Wait()
}

// serve returns an MCP client of a server in this process, nil if it does not
// start.
func (p *places) serve(t *testing.T, relays []string, wrong wrongly) *sdk.ClientSession {
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	m, stderr := p.mainAs(t, p.agent, relays, "mcp"), &transcript{}
	m.Stdin, m.Stdout, m.Stderr = stdin, stdout, stderr
	ended := make(chan int, 1)
	go func() {
		code := m.Run(context.Background())
		stdout.Close()
		ended <- code
	}()
	t.Cleanup(func() {
		in.Close()
		if code := <-ended; code != 0 {
			t.Errorf("mcp: exit code %d: %s", code, stderr)
		}
	})
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.IOTransport{Reader: out, Writer: in}, nil)
	if err != nil {
		wrong("mcp: %v", err)
		return nil
	}
	return session
}
