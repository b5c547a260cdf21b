//go:build nightly

package hostile

import (
	"os"
	"testing"

	"engramd/internal/e2e/relaytest"
)

func TestMain(m *testing.M) {
	if name := os.Getenv(hostileName); name != "" {
		os.Exit(beHostile(name, os.Getenv(hostileURL)))
	}
	os.Exit(relaytest.Tests{M: m}.Run())
}
