package rig

import (
	"encoding/json"
	"net/http"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// LimitationOf reads one field of NIP-11's limitation.
func LimitationOf(t *testing.T, relay *relaytest.Child, name string) any {
	t.Helper()
	resp, err := relay.Do(http.MethodGet, "/", nil, http.Header{"Accept": {"application/nostr+json"}})
	if err != nil || resp.Status != http.StatusOK {
		t.Fatalf("NIP-11: %d, %v", resp.Status, err)
	}
	var doc struct{ Limitation map[string]any }
	if err := json.Unmarshal(resp.Body, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Limitation[name]
}
