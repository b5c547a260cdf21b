package daemon

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestFilesAtOnce: who may open fewer files than connections is told so at the start.
func TestFilesAtOnce(t *testing.T) {
	for _, c := range []struct {
		open uint64
		told bool
	}{{64, true}, {1000, true}, {1063, true}, {1064, false}, {1 << 20, false}} {
		var log bytes.Buffer
		filesAtOnce(slog.New(slog.NewTextHandler(&log, nil)), c.open, 1000)
		if told := strings.Contains(log.String(), "limits.connections"); told != c.told {
			t.Errorf("of %d files: %q", c.open, log.String())
		}
	}
}
