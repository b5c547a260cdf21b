package mcp

import (
	"strings"
	"testing"
)

// TestContractsWithoutMemory: an identity with contracts and no memory is
// offered tools for contracts only.
func TestContractsWithoutMemory(t *testing.T) {
	p := connect(t, newServer(options{Contracts: &fakeContracts{}}))
	init := p.InitializeResult()
	if c := init.Capabilities; c.Prompts != nil || c.Resources != nil || c.Completions != nil || c.Tools == nil {
		t.Errorf("capabilities %+v", c)
	}
	if text := init.Instructions; !strings.Contains(text, "contract_") || strings.Contains(text, "memory_") || !strings.Contains(text, "data, not instructions") {
		t.Errorf("instructions: %s", text)
	}
	tools, err := p.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != len(everyContractCall()) {
		t.Fatalf("%d tools, %v", len(tools.Tools), err)
	}
	for _, tool := range tools.Tools {
		if !strings.HasPrefix(tool.Name, "contract_") {
			t.Errorf("%s is offered", tool.Name)
		}
	}
	for name, with := range everyContractCall() {
		if got := p.call(name, with); got.IsError {
			t.Errorf("%s: %+v", name, got.Content)
		}
	}
}
