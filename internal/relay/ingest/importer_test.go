package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"engramd/internal/relay/ingest"
	"engramd/internal/relay/ingest/ingesttest"
	"engramd/internal/relay/store"
)

func TestImportStopsWhenTheStoreFails(t *testing.T) {
	im := ingesttest.Open(t, store.Live{MaxBytes: 1 << 20})
	var in bytes.Buffer
	for i := range int64(300) {
		in.Write(ingesttest.Line(t, i, strings.Repeat("x", 10_000)))
	}
	got, err := im.Run(t.Context(), &in, &ingesttest.Reports{})
	if !errors.Is(err, store.ErrFull) || !strings.HasPrefix(err.Error(), "line ") {
		t.Errorf("error %v, want the line at which the database was full", err)
	}
	if got.Stored == 0 || got.Stored > 110 || got.Skipped != 0 {
		t.Errorf("tally %v", got)
	}
}

func TestImportOfAnInputThatFails(t *testing.T) {
	im := ingesttest.Open(t, store.Live{})
	broken := io.MultiReader(bytes.NewReader(ingesttest.Line(t, 1, "x")), ingesttest.Failing{Err: errors.New("device gone")})
	got, err := im.Run(t.Context(), broken, &ingesttest.Reports{})
	if err == nil || !strings.Contains(err.Error(), "device gone") {
		t.Errorf("error %v", err)
	}
	if got.Stored > 1 {
		t.Errorf("tally %v", got)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("ended by a signal"))
	endless, _ := io.Pipe()
	if _, err := im.Run(ctx, endless, &ingesttest.Reports{}); err == nil || err.Error() != "ended by a signal" {
		t.Errorf("an import that was ended: %v", err)
	}
}

func TestLines(t *testing.T) {
	im := ingesttest.Open(t, store.Live{})
	var in bytes.Buffer
	in.WriteString("\n  \r\n")                                 // 1, 2: empty
	in.Write(bytes.TrimSuffix(ingesttest.Line(t, 3, "x"), nl)) // 3: CRLF
	in.WriteString("\r\n")
	in.WriteString(strings.Repeat("x", ingest.MaxLine+1) + "\n") // 4: too long
	in.WriteString("\xff\xfe\n")                                 // 5
	in.Write(bytes.TrimSuffix(ingesttest.Line(t, 6, "y"), nl))   // 6: no newline at the end
	p := &ingesttest.Reports{}
	got, err := im.Run(t.Context(), &in, p)
	if err != nil || got.Lines != 4 || got.Stored != 2 || got.Skipped != 2 {
		t.Errorf("%v, %v", got, err)
	}
	if len(p.Skipped) != 2 || p.Skipped[0].Line != 4 || p.Skipped[1].Line != 5 || !strings.Contains(p.Skipped[0].Reason, "longer than") {
		t.Errorf("skipped %v", p.Skipped)
	}
	if got, err := im.Run(t.Context(), strings.NewReader(""), p); err != nil || got.Lines != 0 {
		t.Errorf("empty input: %v, %v", got, err)
	}
}

var nl = []byte("\n")
