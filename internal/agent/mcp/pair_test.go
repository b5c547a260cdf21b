package mcp

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/agent/session"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/testkeys"
)

// TestWrongPair: an agent with a memory for another owner, or an owner of
// another agent's memory, is not told to begin a memory.
func TestWrongPair(t *testing.T) {
	other := testkeys.New("other").Pub
	npub, err := nip19.EncodePublicKey(other)
	if err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{false, true} {
		m := newFake()
		m.others = memory.Others{Keys: []string{other}}
		p := connect(t, newServer(options{Memory: m, ReadOnly: readOnly}))
		f, words := p.refused("memory_read", args{"slug": "core"})
		if f.Code != CodeNotFound || !strings.Contains(words, npub) || strings.Contains(words, "memory_write") {
			t.Errorf("read only %v: %s", readOnly, words)
		}
		if _, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "core"}); err == nil || !strings.Contains(err.Error(), npub) {
			t.Errorf("read only %v: the prompt: %v", readOnly, err)
		}
	}
}

// TestUnaccounted: where no core is shown and it cannot be told that there is none, the
// agent is told no more than that.
func TestUnaccounted(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		p := connect(t, newServer(options{Memory: newFake(), ReadOnly: readOnly, Absent: &session.UnaccountedError{Written: 209}}))
		f, words := p.refused("memory_read", args{"slug": "core"})
		if f.Code != CodeBehind || f.Message != "no core is shown; this agent has written 209 times." || strings.Contains(words, "memory_write") {
			t.Errorf("read only %v: %s", readOnly, words)
		}
		got, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "core"})
		if err != nil || got.Messages[0].Content.(*sdk.TextContent).Text != sectionTitle+"no core is shown; this agent has written 209 times\n" {
			t.Errorf("read only %v: the prompt: %v, %v", readOnly, got, err)
		}
	}
}
