package recall

import (
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The package does no I/O and reads no clock.
func TestPackageIsPure(t *testing.T) {
	forbidden := []string{"os", "io", "io/fs", "net", "net/http", "context", "sync", "log/slog", "math/rand", "math/rand/v2", "crypto/rand", "database/sql"}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile(entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range file.Imports {
			if path, _ := strconv.Unquote(imported.Path.Value); slices.Contains(forbidden, path) {
				t.Errorf("%s imports %s", entry.Name(), path)
			}
		}
		if strings.Contains(string(text), "time.Now(") {
			t.Errorf("%s reads the clock", entry.Name())
		}
	}
}
