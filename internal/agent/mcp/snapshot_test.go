package mcp

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"engramd/internal/agent/session"
	"engramd/internal/client"
)

// TestSnapshot: what comes of a snapshot is told, and failures in words to act
// on.
func TestSnapshot(t *testing.T) {
	var label string
	made, failed := session.Snapshot{ID: "20261120T235100Z-0123456789abcdef", Memories: 3, Size: 9, CreatedAt: 1_700_000_000}, error(nil)
	p := connect(t, newServer(options{Memory: newFake(), Snapshot: func(_ context.Context, l string) (session.Snapshot, error) {
		label = l
		return made, failed
	}}))
	out := ask[snapshotOut](p, "memory_snapshot", args{"label": " before the clean-up "})
	if out.ID != made.ID || out.Outcome != "created" || out.Memories != 3 || label != "before the clean-up" {
		t.Errorf("%+v, label %q", out, label)
	}
	made.Unchanged = true
	if out := ask[snapshotOut](p, "memory_snapshot", args{}); out.Outcome != "unchanged" {
		t.Errorf("%+v", out)
	}
	label = "untouched"
	for name, bad := range map[string]string{"long": strings.Repeat("x", 201), "lines": "a\nb", "secret": "token ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1b"} {
		if f, _ := p.refused("memory_snapshot", args{"label": bad}); f.Code != CodeInvalid || label != "untouched" || strings.Contains(f.Message, "ghp_") {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for want, err := range map[string]error{
		CodeNotFound: session.ErrNothing, CodeBusy: fmt.Errorf("%w: pid 7", session.ErrInUse), CodePartial: client.ErrPartial,
		CodeUnreachable: client.ErrNoRelay, CodeInternal: fmt.Errorf("no space left"),
	} {
		failed = err
		if f, _ := p.refused("memory_snapshot", args{}); f.Code != want || f.Action == "" {
			t.Errorf("%v: %+v", err, f)
		}
	}
	owner := connect(t, newServer(options{Memory: newFake(), ReadOnly: true, Snapshot: func(context.Context, string) (session.Snapshot, error) { return made, nil }}))
	tools, err := owner.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if tool.Name == "memory_snapshot" {
			t.Error("an owner is offered it")
		}
	}
}
