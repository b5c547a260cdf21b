package sealedfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestPowerLossKeepsWhatWasWritten loses power while the next transaction is
// written: each block of the log that it writes is old, new, or new up to a
// sector of it. What was written before, durably, is there in any case.
func TestPowerLossKeepsWhatWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.db")
	durable := func(o *Options) { o.Durable = true }
	f, _, err := opened(t, path, testKey, durable)
	must(t, err)
	logOf := func() []byte {
		data, err := os.ReadFile(path + "-wal")
		must(t, err)
		return data
	}
	torn := 0
	for i := range 12 {
		must(t, put(f, fmt.Sprint(i), "kept"))
		before := logOf()
		must(t, put(f, "next", fmt.Sprint(i)))
		after := logOf()
		if len(after) < len(before) {
			t.Fatal("the log was taken into the file: begin with a smaller one")
		}
		for at := 0; at < len(before); at += pageBytes {
			if bytes.Equal(before[at:at+pageBytes], after[at:at+pageBytes]) {
				continue
			}
			torn++
			for _, sector := range []int{512, 2048, pageBytes - 512} {
				for _, rest := range [][]byte{before, after} {
					log := bytes.Clone(rest)
					copy(log[at:], before[at:at+pageBytes])
					copy(log[at:], after[at:at+sector])
					afterLoss(t, path, log, i)
				}
			}
		}
	}
	if torn == 0 {
		t.Fatal("no block was written again: nothing was tried")
	}
}

// afterLoss opens what is on the disk with that log.
func afterLoss(t *testing.T, path string, log []byte, last int) {
	t.Helper()
	there := filepath.Join(t.TempDir(), "one.db")
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(there, data, 0o600))
	must(t, os.WriteFile(there+"-wal", log, 0o600))
	f, warned, err := opened(t, there, testKey, func(o *Options) { o.Durable = true })
	must(t, err)
	defer f.Close()
	for i := range last + 1 {
		if text, err := get(f, fmt.Sprint(i)); text != "kept" || err != nil {
			t.Fatalf("of %d transactions, number %d is %q, %v; %v", last+1, i, text, err, *warned)
		}
	}
}
