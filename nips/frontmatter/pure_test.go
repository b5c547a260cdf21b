package frontmatter

import (
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The package imports nothing that could do I/O, and reads no clock: the only
// packages it needs are these.
func TestPackageIsPure(t *testing.T) {
	may := []string{"errors", "fmt", "math", "slices", "strconv", "strings", "time", "unicode", "unicode/utf8", "engramd/nips/nipae"}
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
			if path, _ := strconv.Unquote(imported.Path.Value); !slices.Contains(may, path) {
				t.Errorf("%s imports %s", entry.Name(), path)
			}
		}
		for _, call := range []string{"time.Now(", "time.Since("} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s calls %s", entry.Name(), call)
			}
		}
	}
}
