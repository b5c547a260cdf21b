package keychain

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"
)

func TestStore(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere") // the store is a mock
	keyring.MockInit()
	ctx, s := context.Background(), System{}
	if _, err := s.Get(ctx, "default"); !errors.Is(err, ErrNotFound) {
		t.Errorf("got nothing: %v", err)
	}
	if err := s.Add(ctx, "default", "first"); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(ctx, "default", "second"); !errors.Is(err, ErrExists) {
		t.Errorf("written over: %v", err)
	}
	if secret, err := s.Get(ctx, "default"); secret != "first" || err != nil {
		t.Errorf("got %q, %v", secret, err)
	}
}

func TestStoreFails(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere")
	keyring.MockInitWithError(errors.New("the bus is gone"))
	ctx, s := context.Background(), System{}
	if _, err := s.Get(ctx, "default"); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "the bus is gone") {
		t.Errorf("get: %v", err)
	}
	if err := s.Add(ctx, "default", "nsec1secret"); !errors.Is(err, ErrNone) || strings.Contains(err.Error(), "secret") && strings.Contains(err.Error(), "nsec1") {
		t.Errorf("add: %v", err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.Get(ended, "default"); !errors.Is(err, ErrNone) {
		t.Errorf("after the end: %v", err)
	}
}
