package mcp

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nbd-wtf/go-nostr/nip19"

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
