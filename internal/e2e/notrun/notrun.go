// Package notrun says what a machine did not let a test run. go test shows
// nothing of a test that passes or is skipped, so such a test adds a line to the
// file that E2E_NOTES names, and make test prints that file.
package notrun

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// File is the variable that names the file.
const File = "E2E_NOTES"

// Skip ends a test, or a variant of one, that this machine does not allow.
func Skip(tb testing.TB, why string) {
	tb.Helper()
	tb.Skip(note(tb, "DID NOT RUN", why))
}

// Part goes on with a test of which this machine does not allow a part.
func Part(tb testing.TB, what string) {
	tb.Helper()
	tb.Log(note(tb, "DID NOT RUN in full", what))
}

func note(tb testing.TB, how, why string) string {
	tb.Helper()
	text := fmt.Sprintf("%s %s on this machine: %s", tb.Name(), how, strings.TrimSpace(why))
	path := os.Getenv(File)
	if path == "" {
		return text
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, text); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return text
}
