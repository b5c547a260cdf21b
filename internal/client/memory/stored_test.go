package memory

import (
	"errors"
	"slices"
	"testing"

	"engramd/internal/client"
	"engramd/internal/relay/http/bridgetest"
)

// A write returns its event, and which relays accepted it.
func TestWrote(t *testing.T) {
	home := bridgetest.Start(t).URL
	m := agentOf(t, "agent", "owner", []string{bridgetest.Down(t), home}, nil)
	wrote, put, err := m.Set(t.Context(), "mem/a", "text", SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	gone, removed, err := m.Remove(t.Context(), "mem/a", false)
	if err != nil {
		t.Fatal(err)
	}
	for id, status := range map[string]client.Status{wrote.ID: put, gone.ID: removed} {
		if status.Wrote == nil || status.Wrote.ID != id || !slices.Equal(status.Took(), []string{home}) {
			t.Errorf("%v, taken by %v", status.Wrote, status.Took())
		}
	}
	if _, status, err := m.Set(t.Context(), "mem/a", "text", SetOptions{Base: client.Hash("else")}); !errors.Is(err, client.ErrConflict) || status.Wrote != nil {
		t.Errorf("%v; wrote %v", err, status.Wrote)
	}
}
