//go:build nightly

// Package sessions lives through an agent's sessions as its harness does: it runs
// the hooks and the MCP server of the built engramctl beside a real relay.
package sessions

import (
	"os"
	"testing"

	"engramd/internal/e2e/relaytest"
)

func TestMain(m *testing.M) { os.Exit(relaytest.Tests{M: m}.Run()) }
