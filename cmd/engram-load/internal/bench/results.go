package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"engramd/cmd/engram-load/internal/load"
)

// Results is a file of results, written anew after each run. Its JSON names are
// stable.
type Results struct {
	Version int       `json:"version"`
	Quick   bool      `json:"quick"`
	Started time.Time `json:"started"`
	Ended   time.Time `json:"ended"` // of the last run
	Machine Machine   `json:"machine"`
	// Commit is the product's, with "-dirty" if the folder has changes.
	Commit   string            `json:"commit"`
	Versions map[string]string `json:"versions"` // of servers
	Config   Config            `json:"config"`
	Fills    []Fill            `json:"fills"`
	Runs     []Run             `json:"runs"`
}

// resultsVersion is that of the file's format.
const resultsVersion = 2

// Run is one workload against one server. Exactly one of Result, Failure and
// Without is set.
type Run struct {
	Measure string       `json:"measure"`
	Server  string       `json:"server"`
	Size    int          `json:"size,omitempty"` // of the corpus
	Round   int          `json:"round"`          // from 1
	At      time.Time    `json:"at"`
	Result  *load.Result `json:"result,omitempty"`
	Failure string       `json:"failure,omitempty"` // what went wrong
	Without string       `json:"without,omitempty"` // why it was not tried
}

// Fill is a folder that was filled with a corpus.
type Fill struct {
	Server  string  `json:"server"`
	Size    int     `json:"size"`
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"` // on disk
	Corpus  int64   `json:"corpus_bytes"`
}

// ReadResults reads what Write wrote.
func ReadResults(path string) (*Results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r Results
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if r.Version != resultsVersion {
		return nil, fmt.Errorf("%s: its version is %d, not %d", path, r.Version, resultsVersion)
	}
	return &r, nil
}

// Write replaces the file in one step.
func (r *Results) Write(path string) error {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	next := path + ".next"
	if err := os.WriteFile(next, append(text, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// Failures returns how many runs of a server failed.
func (r *Results) Failures(server string) (n int) {
	for _, run := range r.Runs {
		if run.Server == server && run.Failure != "" {
			n++
		}
	}
	return n
}

// has reports whether a run was done already, whatever came of it.
func (r *Results) has(p planned) bool {
	for _, run := range r.Runs {
		if run.Measure == p.measure.Name && run.Server == p.server.Name && run.Size == p.size && run.Round == p.round {
			return true
		}
	}
	return false
}
