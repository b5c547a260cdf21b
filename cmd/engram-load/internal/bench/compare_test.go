package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testConfig measures two servers that are this program: one that works and
// one whose line is given.
func testConfig(t *testing.T, other string) *Config {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig(fmt.Sprintf(`
seed = 7
rounds = 2
subject = "good"
base = "other"
[quick]
rounds = 1
largest = 200
[[server]]
name = "good"
serve = "%[1]s %[2]s {data}"
fill = "%[1]s %[3]s {data} {file}"
version = "%[1]s %[5]s"
[[server]]
name = "other"
serve = "%[1]s %[4]s {data}"
serve_filled = "%[1]s %[4]s {data} {file}"
[[measure]]
name = "publish"
workload = "publish"
title = "Publish"
count = 60
quick_count = 30
warmup = -1
connections = 2
figures = [{ figure = "rate", label = "events", unit = "OK/s" }]
[[measure]]
name = "query"
workload = "query"
title = "Query"
sizes = [100, 200]
size = 200
count = 4
warmup = -1
figures = [{ figure = "rate", label = "events", unit = "events/s" }]
`, program, argServe, argFill, other, argStored))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func testOptions(t *testing.T, c *Config) Options {
	dir := t.TempDir()
	return Options{Config: c, Cache: filepath.Join(dir, "cache"), Out: filepath.Join(dir, "results.json"), Progress: t.Output(), Settle: func() {}}
}

// order is what was run, in short.
func order(r *Results) string {
	var all []string
	for _, run := range r.Runs {
		what := "ok"
		if run.Failure != "" {
			what = "failed"
		}
		all = append(all, fmt.Sprintf("%d %s %d %s %s", run.Round, run.Measure, run.Size, run.Server, what))
	}
	return strings.Join(all, "\n")
}

const roundOfTwo = `%[1]d publish 0 good ok
%[1]d publish 0 other failed
%[1]d query 100 good ok
%[1]d query 100 other failed
%[1]d query 200 good ok
%[1]d query 200 other failed`

func TestServersTakeTurnsAndFailuresHaveNoFigure(t *testing.T) {
	o := testOptions(t, testConfig(t, argLie))
	r, err := Compare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(roundOfTwo+"\n", 1) + fmt.Sprintf(roundOfTwo, 2)
	if got := order(r); got != want {
		t.Errorf("order:\n%s\nwant:\n%s", got, want)
	}
	for _, run := range r.Runs {
		if (run.Result == nil) != (run.Server == "other") {
			t.Errorf("%s of %s: result %v, failure %q", run.Measure, run.Server, run.Result, run.Failure)
		}
	}
	if r.Versions["good"] != "test server 1" || len(r.Fills) != 2 || r.Failures("other") != 6 || r.Failures("good") != 0 {
		t.Errorf("versions %v, fills %v, %d failures", r.Versions, r.Fills, r.Failures("other"))
	}
	kept, err := ReadResults(o.Out)
	if err != nil || order(kept) != want {
		t.Errorf("the file has %v, %v", kept, err)
	}
	if left, _ := filepath.Glob(filepath.Join(o.Cache, "running-*")); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
}

func TestQuickIsOneSmallRound(t *testing.T) {
	c := testConfig(t, argLie)
	c.Quick.Largest = 100
	o := testOptions(t, c)
	o.Choice = Choice{Quick: true, Servers: []string{"good"}}
	r, err := Compare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := order(r); got != "1 publish 0 good ok\n1 query 100 good ok" || r.Runs[0].Result.Count != 30 {
		t.Errorf("order:\n%s, count %d", got, r.Runs[0].Result.Count)
	}
}

func TestResumeDoesWhatIsLeftAndWhatFailed(t *testing.T) {
	o := testOptions(t, testConfig(t, argLie))
	r, err := Compare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r.Runs = r.Runs[:8] // 4 of them failed, 4 did not
	if err := r.Write(o.Out); err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	o.Resume, o.Progress = true, &progress
	if r, err = Compare(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != 12 || !strings.Contains(progress.String(), "[8/8]") || strings.Contains(progress.String(), "filling") {
		t.Errorf("%d runs, and it said:\n%s", len(r.Runs), progress.String())
	}
	o.Config.Measures[0].Count++
	if _, err := Compare(t.Context(), o); !errors.Is(err, ErrResume) {
		t.Errorf("resumed with another configuration: %v", err)
	}
}

func TestServerThatEndsIsAFailureWithItsWords(t *testing.T) {
	o := testOptions(t, testConfig(t, argEnd))
	o.Choice = Choice{Rounds: 1, Measures: []string{"publish"}}
	r, err := Compare(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Runs[1].Failure; !strings.Contains(got, "before it was ready") || !strings.Contains(got, "the first line of trouble") {
		t.Errorf("failure: %q", got)
	}
}

func TestContextEndsARun(t *testing.T) {
	o := testOptions(t, testConfig(t, argServe))
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Progress = writer(func(b []byte) {
		if bytes.Contains(b, []byte("[2/")) {
			cancel(why)
		}
	})
	r, err := Compare(ctx, o)
	if !errors.Is(err, why) || len(r.Runs) != 2 {
		t.Errorf("%v after %d runs", err, len(r.Runs))
	}
	if left, _ := filepath.Glob(filepath.Join(o.Cache, "running-*")); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }

func TestServerWithoutAMeasureIsNotStarted(t *testing.T) {
	c := testConfig(t, argEnd)
	c.Servers[1].Without = map[string]string{"publish": "it cannot"}
	o := testOptions(t, c)
	o.Choice = Choice{Rounds: 1, Servers: []string{"other"}, Measures: []string{"publish"}}
	r, err := Compare(t.Context(), o)
	if err != nil || len(r.Runs) != 1 || r.Runs[0].Without != "it cannot" || r.Runs[0].Failure != "" {
		t.Errorf("%v, %+v", err, r)
	}
}
