package ingest_test

import (
	"bytes"
	"fmt"
	"testing"

	"engramd/internal/relay/ingest/ingesttest"
	"engramd/internal/relay/store"
)

// BenchmarkImport stores 10,000 signed notes in a new database, signatures
// checked on all cores, and reports events per second.
func BenchmarkImport(b *testing.B) {
	const events = 10_000
	var in bytes.Buffer
	for i := range int64(events) {
		in.Write(ingesttest.Line(b, i, fmt.Sprintf("note %d with a text of the usual length, neither short nor long", i)))
	}
	for b.Loop() {
		im := ingesttest.Open(b, store.Live{})
		if t, err := im.Run(b.Context(), bytes.NewReader(in.Bytes()), &ingesttest.Reports{}); err != nil || t.Stored != events {
			b.Fatalf("%v, %v", t, err)
		}
		if err := im.Store.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
