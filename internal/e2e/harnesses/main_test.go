//go:build harness

package harnesses

import (
	"os"
	"testing"

	"engramd/internal/e2e/relaytest"
)

func TestMain(m *testing.M) { os.Exit(relaytest.Tests{M: m, Parallel: 1}.Run()) }
