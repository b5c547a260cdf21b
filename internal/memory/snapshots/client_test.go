package snapshots

import (
	"testing"

	"engramd/internal/client"
	"engramd/internal/e2e/relaytest"
)

func newClient(t *testing.T) *client.Client {
	t.Helper()
	id, err := client.NewIdentity(relaytest.Agent().Secret)
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(id, client.Options{})
	t.Cleanup(c.Close)
	return c
}
