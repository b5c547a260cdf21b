package contract

import (
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/e2e/testkeys"
)

// patience is how long a test waits for an expected event.
const patience = time.Minute

// who makes the identity of a name. Its secret key is public.
func who(t testing.TB, name string) client.Identity {
	t.Helper()
	id, err := client.NewIdentity(testkeys.New(name).Secret)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// clientFor makes a client that is closed with the test. change may be nil.
func clientFor(t testing.TB, id client.Identity, relays []string, change func(*client.Options)) *client.Client {
	t.Helper()
	o := client.Options{Relays: relays, Timeout: patience, Grace: patience} // the machine is shared
	if change != nil {
		change(&o)
	}
	c := client.New(id, o)
	t.Cleanup(c.Close)
	return c
}
