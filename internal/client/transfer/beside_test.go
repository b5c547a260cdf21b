//go:build !cgo

package transfer

import (
	"os"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestMain removes the relay's binary, which runs beside tests without cgo.
func TestMain(m *testing.M) {
	os.Exit(relaytest.Tests{M: m}.Run())
}
