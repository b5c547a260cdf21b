package rig

import (
	"testing"

	"engramd/internal/e2e/relaytest"
)

// Engramd runs a command on the relay's data folder.
func Engramd(t *testing.T, relay *relaytest.Child, args ...string) string {
	t.Helper()
	r := relay.Run(nil, append(args, "--data", relay.Data)...)
	if r.Code != 0 {
		t.Fatalf("%v: %s%s", args, r.Stdout, r.Stderr)
	}
	return string(r.Stdout)
}
