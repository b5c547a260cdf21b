package thinker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestTurn: one has the turn at a time, and it ends with Close.
func TestTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "think.lock")
	first, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Take(path); !errors.Is(err, ErrBusy) {
		t.Fatalf("a second one: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Take(path)
	if err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
}

// TestSpend: thoughts are counted for a day, over processes, and a record that is
// none is begun anew.
func TestSpend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "think.lock")
	at := time.Date(2026, 11, 23, 23, 59, 0, 0, time.UTC)
	spend := func(at time.Time) error {
		turn, err := Take(path)
		if err != nil {
			t.Fatal(err)
		}
		defer turn.Close()
		return turn.Spend(at, 2)
	}
	for i := range 2 {
		if err := spend(at); err != nil {
			t.Fatalf("thought %d: %v", i+1, err)
		}
	}
	if err := spend(at); !errors.Is(err, ErrBudget) {
		t.Fatalf("one too many: %v", err)
	}
	if err := spend(at.Add(time.Minute)); err != nil {
		t.Fatalf("the next day: %v", err)
	}
	if err := os.WriteFile(path, []byte(`{"day":"2026-11-24","runs":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := spend(at.Add(time.Minute)); err != nil {
		t.Fatalf("with half a record: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != `{"day":"2026-11-24","runs":1}`+"\n" {
		t.Fatalf("%q, %v", text, err)
	}
}
