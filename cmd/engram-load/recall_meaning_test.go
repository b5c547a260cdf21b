package main

import (
	"encoding/json"
	"testing"

	"engramd/cmd/engram-load/internal/recalled"
)

// TestMeaningIsWorthIt: with the matrix more comes back than by
// words alone, and about as much is first.
func TestMeaningIsWorthIt(t *testing.T) {
	returned := func(embed string) recalled.Result {
		code, out, errs := command(t, "recall", "--recipe", "--json", "--embed", embed, "--data", "../../testdata/recall/coding.json")
		var all struct{ Figures []recalled.Result }
		if err := json.Unmarshal([]byte(out), &all); code != exitOK || err != nil || len(all.Figures) != 3 {
			t.Fatalf("%d %q, %v: %d figures", code, errs, err, len(all.Figures))
		}
		return all.Figures[1]
	}
	words, both := returned("none"), returned("matrix")
	if both.At5 < words.At5+0.02 || both.First < words.First-0.02 {
		t.Errorf("with meaning %.3f are among the first five and %.3f the first, by words %.3f and %.3f", both.At5, both.First, words.At5, words.First)
	}
}
