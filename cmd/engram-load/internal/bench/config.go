package bench

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"engramd/cmd/engram-load/internal/load"
)

// ErrConfig is what every error about the configuration is.
var ErrConfig = errors.New("bench configuration")

// Config says which servers are measured, with what, and what they must reach.
// Its JSON is part of the results.
type Config struct {
	Seed    uint64 `toml:"seed" json:"seed"`     // of the corpora and of the workloads
	Rounds  int    `toml:"rounds" json:"rounds"` // how often each server is measured
	Quick   Quick  `toml:"quick" json:"quick"`
	Subject string `toml:"subject" json:"subject"` // the server that the targets are about
	Base    string `toml:"base" json:"base"`       // the server that the others are compared with

	Servers  []Server  `toml:"server" json:"servers"`
	Measures []Measure `toml:"measure" json:"measures"`
	Targets  []Target  `toml:"target" json:"targets"`
}

// Quick is what the short form changes.
type Quick struct {
	Rounds  int `toml:"rounds" json:"rounds"`
	Largest int `toml:"largest" json:"largest"` // events of the only corpus
}

// Server is a relay as command lines. They are split at blanks and run without
// a shell; {data} is its folder, {file} the file of events.
type Server struct {
	Name  string `toml:"name" json:"name"`
	About string `toml:"about" json:"about"` // for the report: what it is, which limits were lifted
	// Serve starts it; it prints a line with "ready" and url=ws://HOST:PORT.
	Serve string `toml:"serve" json:"serve"`
	// Fill fills an empty folder from {file}. Without it ServeFilled is started
	// for workloads that need a corpus.
	Fill string `toml:"fill" json:"fill,omitempty"`
	// FillIn is a folder, as /dev/shm, to fill in before the result is copied: for
	// stores that sync each event. It is not used where it does not exist.
	FillIn      string `toml:"fill_in" json:"fill_in,omitempty"`
	ServeFilled string `toml:"serve_filled" json:"serve_filled,omitempty"`
	// Import fills the new folder {data} from {file}: what the workloads without a
	// relay measure. Dump prints what is stored then, as JSON Lines.
	Import string `toml:"import" json:"import,omitempty"`
	Dump   string `toml:"dump" json:"dump,omitempty"`
	// Version prints what runs, in one line.
	Version string `toml:"version" json:"version,omitempty"`
	// Depends are the files, as patterns, that say what a filled folder looks
	// like: when one changes, the folder is filled anew.
	Depends []string `toml:"depends" json:"depends,omitempty"`
	// Largest is the largest corpus that it is measured with; 0: any.
	Largest int `toml:"largest" json:"largest,omitempty"`
	// Rounds is how many rounds it takes part in; 0: all.
	Rounds int `toml:"rounds" json:"rounds,omitempty"`
	// Counts replaces the count of measures, for a server that is too slow for it.
	Counts map[string]int `toml:"counts" json:"counts,omitempty"`
	// Without names the measures that it cannot take part in, and why.
	Without map[string]string `toml:"without" json:"without,omitempty"`
}

// Measure is a workload with its options, and what of it is shown.
type Measure struct {
	Name     string `toml:"name" json:"name"`
	Workload string `toml:"workload" json:"workload"`
	Title    string `toml:"title" json:"title"`
	About    string `toml:"about" json:"about"`
	// Sizes of the corpora, each measured, for workloads that need one; Size is
	// the one that the page shows.
	Sizes       []int   `toml:"sizes" json:"sizes,omitempty"`
	Size        int     `toml:"size" json:"size,omitempty"`
	Count       int     `toml:"count" json:"count,omitempty"`
	QuickCount  int     `toml:"quick_count" json:"quick_count,omitempty"`
	Connections int     `toml:"connections" json:"connections,omitempty"`
	Pipeline    int     `toml:"pipeline" json:"pipeline,omitempty"`
	Warmup      int     `toml:"warmup" json:"warmup,omitempty"`
	Rate        float64 `toml:"rate" json:"rate,omitempty"` // events per second
	// Subscriptions are those of live-wide.
	Subscriptions int           `toml:"subscriptions" json:"subscriptions,omitempty"`
	Auth          load.AuthMode `toml:"auth" json:"auth,omitempty"`
	Timeout       duration      `toml:"timeout" json:"timeout,omitempty"`
	Servers       []string      `toml:"servers" json:"servers,omitempty"` // empty: all
	// Figures are those that the page shows, one row each.
	Figures []Figure `toml:"figures" json:"figures"`
}

// Figure is one number of a result.
type Figure struct {
	Name  string `toml:"figure" json:"figure"`
	Label string `toml:"label" json:"label"`
	Unit  string `toml:"unit" json:"unit"`
}

// Target is what the subject must reach: Min or Max of a figure, or of its
// ratio to another.
type Target struct {
	Text    string   `toml:"text" json:"text"`
	Measure string   `toml:"measure" json:"measure"`
	Figure  string   `toml:"figure" json:"figure"`
	Size    int      `toml:"size" json:"size,omitempty"`
	Unit    string   `toml:"unit" json:"unit"`
	Of      *Base    `toml:"of" json:"of,omitempty"`
	Min     *float64 `toml:"min" json:"min,omitempty"`
	Max     *float64 `toml:"max" json:"max,omitempty"`
}

// Base is what a target's figure is divided by. Empty fields are the target's
// own, the server's is the subject.
type Base struct {
	Server  string `toml:"server" json:"server,omitempty"`
	Measure string `toml:"measure" json:"measure,omitempty"`
	Figure  string `toml:"figure" json:"figure,omitempty"`
	Size    int    `toml:"size" json:"size,omitempty"`
}

// duration is a time.Duration as text ("2m").
type duration struct{ time.Duration }

// UnmarshalText reads what time.ParseDuration does.
func (d *duration) UnmarshalText(b []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(b))
	return err
}

// MarshalText writes what UnmarshalText reads.
func (d duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// ReadConfig reads and checks a file. The error is ErrConfig, or that of the
// file.
func ReadConfig(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// ParseConfig is ReadConfig of a text.
func ParseConfig(text string) (*Config, error) {
	var c Config
	meta, err := toml.Decode(text, &c)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("%w: unknown key %s", ErrConfig, unknown[0])
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return &c, nil
}

// server returns the server of that name; nil if there is none.
func (c *Config) server(name string) *Server {
	i := slices.IndexFunc(c.Servers, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Servers[i]
}

// Measure returns the measure of that name; nil if there is none.
func (c *Config) Measure(name string) *Measure {
	i := slices.IndexFunc(c.Measures, func(m Measure) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Measures[i]
}

// argv splits a command line and puts in what the braces stand for.
func argv(line string, values map[string]string) []string {
	words := strings.Fields(line)
	for i := range words {
		for name, value := range values {
			words[i] = strings.ReplaceAll(words[i], "{"+name+"}", value)
		}
	}
	return words
}
