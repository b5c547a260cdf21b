package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/cmd/engram-load/internal/bench"
	"engramd/cmd/engram-load/internal/load"
	"engramd/cmd/engram-load/siege/section"
)

func ptr(v float64) *float64 { return &v }

// sample has a measure without a corpus and one at three sizes; two servers
// with figures, one that fails and one that is left out.
func sample() *bench.Results {
	rate := bench.Figure{Name: "rate", Label: "events", Unit: "OK/s", Better: "more"}
	r := &bench.Results{Version: 1, Config: bench.Config{
		Subject: "ours", Base: "base", Seed: 1,
		Servers: []bench.Server{{Name: "ours", Serve: "ours serve"}, {Name: "base"}, {Name: "broken"}, {Name: "absent"}},
		Measures: []bench.Measure{
			{Name: "publish", Title: "Publish", Bars: []bench.Figure{rate}},
			{Name: "query", Title: "Query", Sizes: []int{10_000, 100_000, 1_000_000}, Size: 100_000, Bars: []bench.Figure{rate},
				Curve: &bench.Figure{Name: perUnit, Label: "time for one", Unit: "µs", Better: "less"}},
		},
		Targets: []bench.Target{
			{Text: "publish more than base", Measure: "publish", Figure: "rate", Unit: "OK/s", Min: ptr(1), Of: &bench.Base{Server: "base"}},
			{Text: "publish as broken", Measure: "publish", Figure: "rate", Unit: "OK/s", Min: ptr(1), Of: &bench.Base{Server: "broken"}},
			{Text: "query in 5 µs", Measure: "query", Figure: perUnit, Unit: "µs", Max: ptr(5)},
			{Text: "grow by no more than a half", Measure: "query", Figure: perUnit, Size: 1_000_000, Unit: "µs", Max: ptr(1.5), Of: &bench.Base{Size: 10_000}},
		},
	}}
	add := func(measure, server string, size, round int, rate float64) {
		r.Runs = append(r.Runs, bench.Run{Measure: measure, Server: server, Size: size, Round: round,
			Result: &load.Result{Unit: "OK/s", Rate: rate, Usage: &load.Usage{CPUPerOp: 12.5, RSSPeak: 4096}, Options: load.Options{Count: 1000}}})
	}
	for round, rate := range []float64{11_000, 9000, 12_340} {
		add("publish", "ours", 0, round+1, rate)
		add("publish", "base", 0, round+1, 10_000)
	}
	for i, size := range []int{10_000, 100_000, 1_000_000} {
		add("query", "ours", size, 1, 400_000/float64(i+1))
		add("query", "base", size, 1, 100_000)
	}
	add("publish", "broken", 0, 1, 777_777)
	r.Runs = append(r.Runs,
		bench.Run{Measure: "publish", Server: "broken", Round: 2, Failure: "the relay answers wrongly: <b>\nmore"},
		bench.Run{Measure: "publish", Server: "absent", Round: 1, Without: "it cannot"})
	return r
}

func write(t *testing.T, r *bench.Results, notes string) (page, folder string) {
	t.Helper()
	dir := t.TempDir()
	folder = filepath.Join(dir, "page")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{notesName: notes, "old.svg": "gone"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(r, filepath.Join(dir, "page.md")); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "page.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), folder
}

func TestPageSaysWhatWasMeasured(t *testing.T) {
	page, folder := write(t, sample(), "Read this first.\n\n## query\n\nThe index bounds it.\n")
	for name, want := range map[string]string{
		"target met":              "| publish more than base | 1.10 × | 11,000 OK/s : 10,000 OK/s | met by 10.0 % |",
		"no base":                 "publish as broken |  |  | **no figure**: publish of broken failed in 1 of 2 |",
		"target without ratio":    "| query in 5 µs | 5.00 µs |  | met by 0 % |",
		"target missed":           "| grow by no more than a half | 3.00 × | 7.50 µs : 2.50 µs | **missed by 100 %** |",
		"how many":                "2 of 4 are met; 1 have no figure.",
		"median and spread":       "| ours | 11,000 <sub>9,000–12,340</sub> | 1.10 × | 12.5 | 4,096 | 3 × 1,000 |",
		"failure without figure":  "| broken | **failed in 1 of 2** | | | | |",
		"failure's first line":    "- broken: failed in 1 of 2: the relay answers wrongly: <b>\n",
		"left out":                "- absent: not measured: it cannot",
		"size":                    "| 10⁶ | ours | 133,300 | 1.33 × | 7.50 |",
		"plot":                    "![Query: cost against size](page/query-size.svg)",
		"notes of all":            "\nRead this first.\n",
		"notes after their table": "\nThe index bounds it.\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing: %s", name, want)
		}
	}
	if strings.Contains(page, "777,8") || strings.Contains(page, "777,7") {
		t.Error("a server that failed has a figure")
	}
	if t.Failed() {
		t.Log(page)
	}
	plots, _ := filepath.Glob(filepath.Join(folder, "*.svg"))
	if len(plots) != 3 {
		t.Errorf("plots: %v, want publish, query, query-size", plots)
	}
}

// Another program measures the siege: its figures stay when the page is made
// anew.
func TestPageKeepsTheSiege(t *testing.T) {
	_, folder := write(t, sample(), "")
	path := folder + ".md"
	if err := section.Put(path, "It held.\n"); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(sample(), path); err != nil {
		t.Fatal(err)
	}
	if after, err := os.ReadFile(path); err != nil || !strings.Contains(string(after), "\nIt held.\n") || string(after) != string(before) {
		t.Errorf("%v; before:\n%s\nafter:\n%s", err, before, after)
	}
}

func TestPlotsAreWellFormed(t *testing.T) {
	r := sample()
	r.Config.Measures[0].Title = `Publish <"&>`
	_, folder := write(t, r, "")
	plots, _ := filepath.Glob(filepath.Join(folder, "*.svg"))
	for _, path := range plots {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", filepath.Base(path), err)
			}
		}
		if strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
			t.Errorf("%s has a place that is no number", filepath.Base(path))
		}
		if !strings.Contains(string(text), "prefers-color-scheme:dark") {
			t.Errorf("%s has no dark colours", filepath.Base(path))
		}
	}
}

func TestNotesOfNothingAreAnError(t *testing.T) {
	if _, _, err := render(sample(), map[string]string{"querry": "lost"}, "page"); err == nil {
		t.Error("a note would be lost")
	}
}

// The short form measures a small corpus only: its figures stand in for the
// size that is asked for.
func TestShortFormSaysSo(t *testing.T) {
	r := sample()
	r.Quick = true
	r.Runs = r.Runs[:8]
	page, _ := write(t, r, "")
	for _, want := range []string{"This is the short form", "| query in 5 µs | 2.50 µs |", "Query, 10⁴ events stored"} {
		if !strings.Contains(page, want) {
			t.Errorf("missing: %s\n%s", want, page)
		}
	}
}

func TestNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1234567: "1,235,000", 18234.4: "18,230", 999.6: "1,000", 123.4: "123", 12.34: "12.3", 1.234: "1.23", 0.0123: "0.01", 0.00123: "0.0012", -2500: "-2,500",
	} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %s, want %s", v, got, want)
		}
	}
	for n, want := range map[int]string{10_000: "10⁴", 1_000_000: "10⁶", 20_000: "20,000", 100: "100", 12_345: "12,345"} {
		if got := power(n); got != want {
			t.Errorf("power(%d) = %s, want %s", n, got, want)
		}
	}
	if got := value(2500, "µs"); got != "2.50 ms" {
		t.Errorf("value: %s", got)
	}
	if got := spreadOf([]float64{4, 1, 2, 3}); got != (spread{2.5, 1, 4}) {
		t.Errorf("spread: %v", got)
	}
}
