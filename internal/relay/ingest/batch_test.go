package ingest_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"engramd/internal/relay/ingest"
	"engramd/internal/relay/ingest/ingesttest"
	"engramd/internal/relay/store"
)

// TestWrongLinesAmongMany: signatures are checked together, and invalid ones
// are still found line by line, while the other events are stored.
func TestWrongLinesAmongMany(t *testing.T) {
	const lines = 2*ingest.BatchLines + 100
	spoils := map[int64]struct{ from, to string }{
		1:                     {`"sig":"`, `"sig":"00`},               // too long
		ingest.BatchLines / 2: {`"content":"note`, `"content":"nota`}, // another id
		ingest.BatchLines + 1: {`"kind":1`, `"kind":7`},               // another id
		lines:                 {`"content":"`, `"content":"\ud800`},   // no text
	}
	badSig := int64(700)
	var in bytes.Buffer
	for i := int64(1); i <= lines; i++ {
		line := string(ingesttest.Line(t, i, fmt.Sprint("note ", i)))
		if s, wrong := spoils[i]; wrong {
			line = strings.Replace(line, s.from, s.to, 1)
		}
		if i == badSig { // correct in form
			at := strings.Index(line, `"sig":"`) + len(`"sig":"`)
			line = line[:at+64] + strings.Repeat("0", 63) + "1" + line[at+128:]
		}
		in.WriteString(line)
	}
	im := ingesttest.Open(t, store.Live{})
	p := &ingesttest.Reports{}
	got, err := im.Run(t.Context(), &in, p)
	if err != nil || got.Lines != lines || got.Stored != lines-5 || got.Skipped != 5 {
		t.Errorf("%v, %v", got, err)
	}
	var skippedLines []int64
	for _, s := range p.Skipped {
		skippedLines = append(skippedLines, s.Line)
	}
	if want := []int64{1, badSig, ingest.BatchLines / 2, ingest.BatchLines + 1, lines}; !slices.Equal(skippedLines, want) {
		t.Errorf("skipped %v, want %v", skippedLines, want)
	}
}
