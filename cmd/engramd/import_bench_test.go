package main

import (
	"bytes"
	"fmt"
	"testing"

	"engramd/internal/gate"
	"engramd/internal/policy"
	"engramd/internal/relay"
	"engramd/internal/store/sqlite"
)

// BenchmarkImport stores 10,000 signed notes in a new database, signatures
// checked on all cores, and reports events per second.
func BenchmarkImport(b *testing.B) {
	const events = 10_000
	var in bytes.Buffer
	for i := range int64(events) {
		in.Write(jsonLine(b, i, fmt.Sprintf("note %d with a text of the usual length, neither short nor long", i)))
	}
	table, err := gate.NewTable(gate.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), sqlite.Options{Path: sqlite.File(b.TempDir()), Table: table})
		if err != nil {
			b.Fatal(err)
		}
		judge, err := newJudge(relay.Names{"ws://127.0.0.1:7447"}, policy.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if t, err := newImporter(s, judge).run(b.Context(), bytes.NewReader(in.Bytes()), &reports{}); err != nil || t.Stored != events {
			b.Fatalf("%v, %v", t, err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(events)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
