// Package secretcases reads testdata/vectors/secret-cases.json: texts in which something
// looks like a secret, and texts in which nothing does. Each way of writing is held to them.
package secretcases

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Case is a text, the kind of what is found in it, "" for nothing, and how often it is.
type Case struct {
	Name, Kind, Text string
	Count            int
}

// All returns every case.
func All(t testing.TB) []Case {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	raw, err := os.ReadFile(filepath.Join(filepath.Dir(here), "../../../testdata/vectors/secret-cases.json"))
	var table struct {
		Cases []struct {
			Name, Kind string
			Text       []string
			Count      int
		}
	}
	if err == nil {
		err = json.Unmarshal(raw, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := make([]Case, len(table.Cases))
	for i, c := range table.Cases {
		if all[i] = (Case{c.Name, c.Kind, strings.Join(c.Text, ""), c.Count}); c.Kind != "" {
			all[i].Count = max(1, c.Count)
		}
	}
	return all
}
