package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A process name can hold anything, even text that looks like the fields after
// it.
func TestProbeReadsProc(t *testing.T) {
	proc := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(proc, "42"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, "42", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("stat", "42 (a) R 1 (b) ) S 1 42 42 0 -1 4194560 100 0 0 0 250 75 0 0 20 0 9 0 1234 1 2\n")
	write("status", "Name:\ta\nVmPeak:\t  999 kB\nVmHWM:\t    8192 kB\nVmRSS:\t    4096 kB\n")
	got, err := probe(proc, 42)
	want := Sample{User: 2500 * time.Millisecond, System: 750 * time.Millisecond, RSS: 4096, Peak: 8192}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, stat := range []string{"", "42 (a) S 1 2", "42 (a) S 1 42 42 0 -1 4194560 100 0 0 0 x 75 0 0"} {
		write("stat", stat)
		if got, err := probe(proc, 42); err == nil {
			t.Errorf("%q: %+v", stat, got)
		}
	}
	if _, err := probe(proc, 43); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no process: %v", err)
	}
}

// The work that a process does while it is measured appears in its usage.
func TestMeasureOwnProcess(t *testing.T) {
	const busy = 200 * time.Millisecond
	var waste []byte
	r, err := Measure(context.Background(), Target{PID: os.Getpid()}, func(context.Context) (int, error) {
		waste = make([]byte, 32<<20)
		for from := ownCPU(); ownCPU()-from < busy; {
			for i := range waste {
				waste[i]++
			}
		}
		return 1000, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.ClientCPU < busy.Seconds() || r.CPUUser+r.CPUSystem < busy.Seconds()/2 || r.CPUPerOp <= 0 || r.RSSPeak < 32<<10 || r.Count != 1000 {
		t.Errorf("got %+v, %+v", r, r.Usage)
	}
	if _, err := Measure(context.Background(), Target{PID: 1 << 30}, func(context.Context) (int, error) { return 0, nil }); err == nil {
		t.Error("there is a usage of no process")
	}
}
