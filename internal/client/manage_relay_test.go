//go:build cgo

package client_test

import (
	"errors"
	"testing"

	"engramd/internal/client"
	"engramd/internal/relay/http/bridgetest"
)

// TestManageWithoutAPI: a relay without the management API is told apart from
// one that refuses.
func TestManageWithoutAPI(t *testing.T) {
	if _, err := clientOf(t, "operator", bridgetest.Start(t).URL).Manage(t.Context(), "x"); !errors.Is(err, client.ErrNoManagement) {
		t.Error(err)
	}
}
