package report

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/cmd/engram-load/internal/bench"
	"engramd/cmd/engram-load/internal/load"
)

func ptr(v float64) *float64 { return &v }

// sample has a measure without a corpus and one at three sizes; two servers
// with figures, one that fails and one that is left out.
func sample() *bench.Results {
	rate := bench.Figure{Name: "rate", Label: "events", Unit: "OK/s"}
	r := &bench.Results{Version: 1, Config: bench.Config{
		Subject: "ours", Base: "base", Seed: 1,
		Servers: []bench.Server{{Name: "ours", Serve: "ours serve"}, {Name: "base"}, {Name: "broken"}, {Name: "absent"}},
		Measures: []bench.Measure{
			{Name: "publish", Title: "Publish", Figures: []bench.Figure{rate}},
			{Name: "query", Title: "Query", Sizes: []int{10_000, 100_000, 1_000_000}, Size: 100_000, Figures: []bench.Figure{rate}},
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
	r.Fills = []bench.Fill{{Server: "ours", Size: 10_000, Seconds: 2, Bytes: 6_000_000, Corpus: 5_000_000}}
	return r
}

func write(t *testing.T, r *bench.Results) (page, folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "page")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "SIEGE.md"), []byte("# Under siege\n\nIt held.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(r, folder+".md"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(folder + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text), folder
}

func TestPageSaysWhatWasMeasured(t *testing.T) {
	page, folder := write(t, sample())
	for name, want := range map[string]string{
		"target met":           "| publish | publish more than base | 1.10 × | 11,000 OK/s : 10,000 OK/s | met by 10.0 % |",
		"no base":              "publish as broken |  |  | **no figure**: publish of broken failed in 1 of 2 |",
		"target without ratio": "| query | query in 5 µs | 5.00 µs |  | met by 0 % |",
		"target missed":        "grow by no more than a half | 3.00 × | 7.50 µs : 2.50 µs | **missed by 100 %** |",
		"how many":             "2 of 4 are met; 1 have no figure.",
		"medians":              "| Publish: events, OK/s |  | 11,000 | 10,000 | – | – |",
		"size":                 "| Query: events, OK/s | 10⁵ | 200,000 | 100,000 | – | – |",
		"failure's first line": "- publish of broken: failed in 1 of 2: the relay answers wrongly: <b>\n",
		"left out":             "- publish of absent: it cannot\n",
		"figures of elsewhere": "- [Under siege](page/SIEGE.md)\n",
		"the table":            "(page/figures.csv)",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is missing: %s", name, want)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
	file, err := os.Open(filepath.Join(folder, tableName))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, row := range rows {
		all.WriteString(strings.Join(row, ",") + "\n")
	}
	for name, want := range map[string]string{
		"median and spread":  "publish,0,ours,rate,OK/s,11000,9000,12340,3,1000,\n",
		"what a server took": "publish,0,ours,cpu_us_per_op,µs,12.5,12.5,12.5,3,1000,\n",
		"every size":         "query,1000000,ours,us_per_unit,µs,7.5,7.5,7.5,1,1000,\n",
		"failure":            "publish,0,broken,,,,,,,,failed in 1 of 2: the relay answers wrongly: <b>\n",
		"how it was filled":  "fill,10000,ours,bytes_per_event,B,600,600,600,1,10000,\n",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%s is missing: %s in\n%s", name, want, &all)
		}
	}
	if strings.Contains(page+all.String(), "777") {
		t.Error("a server that failed has a figure")
	}
}

// The short form measures a small corpus only: its figures stand in for the
// size that is asked for.
func TestShortFormSaysSo(t *testing.T) {
	r := sample()
	r.Quick = true
	r.Runs = r.Runs[:8]
	page, _ := write(t, r)
	for _, want := range []string{"This is the short form", "| query in 5 µs | 2.50 µs |", "| Query: events, OK/s | 10⁴ |"} {
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
