//go:build nightly

package rot

import (
	"os"
	"testing"

	"engramd/internal/e2e/relaytest"
)

func TestMain(m *testing.M) { os.Exit(relaytest.Tests{M: m}.Run()) }
