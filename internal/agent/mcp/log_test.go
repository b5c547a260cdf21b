package mcp

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/client"
)

// safeBuffer is a buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestLogIsSilentAboutMemory: even at level debug the log has no slugs, texts
// or messages of relays.
func TestLogIsSilentAboutMemory(t *testing.T) {
	var log safeBuffer
	o := options{Memory: newFake(), Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	p := connect(t, newServer(o))
	p.call("memory_write", args{"slug": "walnut", "text": "walnut tree"})
	p.call("memory_read", args{"slug": "walnut"})
	p.call("memory_read", args{"slug": "Wrong Walnut"})
	p.call("memory_read", args{"slug": 7, "walnut": "walnut"})
	p.call("memory_search", args{"query": "walnut"})
	for _, uri := range []string{"engram://mem/walnut", "engram://mem/walnut2", "walnut:"} {
		_, _ = p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	}
	_ = p.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "engram://mem/walnut"})
	_, _ = p.CallTool(t.Context(), callOf("walnut", nil))
	o.Memory = failing(errors.Join(client.ErrNoRelay, errors.New("walnut")), client.Status{})
	connect(t, newServer(o)).call("memory_read", args{"slug": "x"})
	got := log.String()
	if strings.Contains(strings.ToLower(got), "walnut") {
		t.Errorf("the log says what is remembered:\n%s", got)
	}
	for _, want := range []string{"name=memory_write outcome=ok", "outcome=invalid_arguments", "outcome=unreachable"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the log:\n%s", want, got)
		}
	}
}
