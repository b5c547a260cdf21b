package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"engramd/cmd/engram-load/internal/load"
	"engramd/internal/relay/http/bridgetest"
)

// command runs a command line and returns its exit code and output.
func command(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	m := &Main{Args: args, Stdout: &out, Stderr: &errs}
	code = m.Run(context.Background())
	return code, out.String(), errs.String()
}

// The commands of docs/engram-load.md work with engramd.
func TestMeasureARelay(t *testing.T) {
	url, cache := bridgetest.Start(t).URL, t.TempDir()
	code, out, errs := command(t, "prepare", "--size", "200", "--seed", "5", "--cache", cache)
	path := load.CorpusPath(cache, 200, 5)
	if code != 0 || strings.TrimSpace(out) != path || errs != "" {
		t.Fatalf("prepare: %d %q %q", code, out, errs)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	corpus := []string{"--url", url, "--size", "200", "--seed", "5", "--cache", cache}
	if code, out, errs = command(t, append([]string{"run", "fill"}, corpus...)...); code != 0 || !strings.Contains(out, "OK/s") {
		t.Fatalf("fill: %d %q %q", code, out, errs)
	}
	code, out, errs = command(t, append([]string{"run", "query", "--name", "mine", "--count", "6", "--connections", "2", "--json"}, corpus...)...)
	var r load.Result
	if err := json.Unmarshal([]byte(out), &r); code != 0 || err != nil || r.Count != 60 || r.Server != "mine" || r.Options.Connections != 2 {
		t.Errorf("query: %d %q %q, %v", code, out, errs, err)
	}
	for _, name := range []string{"workload", "seconds", "rate", "latency_us", "client_cpu_s", "options"} {
		if !strings.Contains(out, `"`+name+`":`) {
			t.Errorf("the JSON has no %s: %s", name, out)
		}
	}
}

func TestExitCodes(t *testing.T) {
	cache := t.TempDir()
	down := bridgetest.Down(t)
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"run"}, exitUsage, "accepts 1 arg"},
		{[]string{"run", "sleep", "--url", down}, exitUsage, "unknown workload"},
		{[]string{"run", "query"}, exitUsage, "--url is missing"},
		{[]string{"run", "query", "--url", down, "--auth", "maybe"}, exitUsage, "auto, never or require"},
		{[]string{"run", "query", "--url", down, "--count", "-1"}, exitUsage, "count is -1"},
		{[]string{"run", "query", "--url", down, "--pipeline", "5000"}, exitUsage, "pipeline is 5000"},
		{[]string{"run", "query", "--url", down, "--colour"}, exitUsage, "unknown flag"},
		{[]string{"run", "query", "--url", down, "--cache", cache, "--size", "50"}, exitFailed, "not prepared"},
		{[]string{"run", "publish", "--url", down, "--cache", cache, "--count", "5", "--warmup", "-1"}, exitFailed, "connection refused"},
		{[]string{"run", "publish", "--url", "http://x", "--cache", cache, "--count", "5", "--warmup", "-1"}, exitUsage, "not a ws://"},
		{[]string{"prepare", "--size", "0", "--cache", cache}, exitUsage, "corpus of 0"},
		{[]string{"polish"}, exitUsage, "unknown command"},
		{[]string{"workloads"}, exitOK, ""},
	} {
		code, out, errs := command(t, tt.args...)
		if code != tt.code || !strings.Contains(errs, tt.says) {
			t.Errorf("%v: exit code %d, %q", tt.args, code, errs)
		}
		if tt.code == exitOK && !strings.Contains(out, "read-head") {
			t.Errorf("%v: %q", tt.args, out)
		}
	}
}
