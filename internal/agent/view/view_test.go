package view

import (
	"strings"
	"testing"

	"engramd/internal/client"
)

func TestBehindLine(t *testing.T) {
	const at = 1_700_000_000
	for _, c := range []struct {
		s    client.Status
		want string
	}{
		{client.Status{}, ""},
		{client.Status{Behind: 1, BehindAt: at}, "this machine has the one of 2023-11-14T22:13:20Z. engramctl repair sends it again"},
		{client.Status{Waits: true}, "engramctl outbox ls"},
		{client.Status{Behind: 1}, "this machine has the one. engramctl"},
		{client.Status{Behind: 3, BehindAt: at}, "of 3 memories relays show older versions (or none); this machine has newer ones, the newest of 2023"},
		{client.Status{Behind: 1, Withheld: 1}, "of one memory"},
		{client.Status{Behind: 3, Withheld: 2}, "of 3 memories relays show older versions (or none), and of 2 there is no text"},
		{client.Status{Behind: 1, BehindAt: at, Named: true}, "a newer version than these relays show, of 2023-11-14T22:13:20Z;"},
		{client.Status{Behind: 1, BehindAt: at, Removed: client.Removal{Relay: "wss://one"}}, "the operator of wss://one removed a version that this machine has, of 2023-11-14T22:13:20Z;"},
		{client.Status{Removed: client.Removal{Relay: "wss://one"}}, "the operator of wss://one removed the version that this machine knows; what that relay shows was the base"},
		{client.Status{Behind: 1, BehindAt: at, Removed: client.Removal{Relay: "wss://one", Expired: true}}, "wss://one had a version after a version that this machine has, of 2023-11-14T22:13:20Z, which has expired;"},
		{client.Status{Removed: client.Removal{Relay: "wss://one", Expired: true}}, "wss://one had a version after the version that this machine knows, which has expired; what that relay shows was the base"},
	} {
		if got := BehindLine(c.s); !strings.Contains(got, c.want) || (c.want == "") != (got == "") || strings.Contains(got, "\n") {
			t.Errorf("%+v: %q", c.s, got)
		}
	}
}
