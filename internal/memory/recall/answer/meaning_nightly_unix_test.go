//go:build nightly && unix

package answer

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/memory/recall"
)

// TestMeaningCostsTheHookLittle: what a prompt is told takes at most 5 ms of the processor
// more with the matrix than without over 1,000 memories, and 15 ms over 10,000, which
// ENGRAMD_SOAK=1 asks for: of a short prompt, and of one of 200 words.
func TestMeaningCostsTheHookLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures the processor's time, which the race detector takes")
	}
	n, bound := 1000, 5*time.Millisecond
	if os.Getenv("ENGRAMD_SOAK") == "1" {
		n, bound = 10_000, 15*time.Millisecond
	}
	words := strings.Fields("harbour engine ledger walnut printer boiler ferry sourdough server password release importer invoice garden window database queue backup meeting holiday")
	about := func(i, many int) string {
		var all []string
		for k := range many {
			all = append(all, fmt.Sprintf("%s%d %s", words[(i*7+k*3)%len(words)], (i+k)%211, words[(i+k*5)%len(words)]))
		}
		return strings.Join(all, " ") + "."
	}
	texts := map[string]string{}
	for i := range n {
		texts[fmt.Sprintf("mem/%05d", i)] = about(i, 40)
	}
	source := Local(keptCopy(t, texts), func() ([]string, bool) { return []string{relayURL}, true })
	tell := func(text string, parts []string) time.Duration {
		before := processorTime(t)
		err := source.Read(t.Context(), func(v View) error {
			_, err := Tell(v, Query{Text: text, Matrix: parts}, now)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return processorTime(t) - before
	}
	prompts := map[string]string{"short": "Who looks after the walnut in the harbour?", "long": strings.Repeat("Please look at the importer again and tell me who has the password of the old server. ", 12)}
	for name, text := range prompts {
		var more time.Duration
		for range 3 { // other programs run beside a test
			var without, with []time.Duration
			for range 21 {
				without, with = append(without, tell(text, nil)), append(with, tell(text, recall.Parts(text)))
			}
			slices.Sort(without)
			slices.Sort(with)
			if more = with[10] - without[10]; more <= bound {
				break
			}
		}
		t.Logf("%s prompt over %d memories: %v more", name, n, more)
		if more > bound {
			t.Errorf("%s prompt over %d memories: %v more with the matrix, above %v", name, n, more, bound)
		}
	}
}
