//go:build !cgo

package client

import (
	"fmt"
	"os"
	"testing"

	"engramd/internal/e2e/relaytest"
)

// TestMain removes the relay's binary, which runs beside tests without cgo.
func TestMain(m *testing.M) {
	code := m.Run()
	if err := relaytest.Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
