package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Needs says what the relay must hold before a workload runs.
type Needs int

const (
	// NeedsEmpty: nothing, or nothing that the workload is going to send.
	NeedsEmpty Needs = iota
	// NeedsCorpus: the corpus of Options.Size and Options.Seed, and nothing else.
	NeedsCorpus
	// NeedsNoRelay: the workload starts a program of its own.
	NeedsNoRelay
)

// String is "empty", "corpus" or "no relay".
func (n Needs) String() string { return [...]string{"empty", "corpus", "no relay"}[n] }

// Workload is one thing that is measured.
type Workload struct {
	Name, Help string
	Unit       string // of Result.Rate, as "OK/s"
	Defaults   Options
	Needs      Needs
	run        runner
}

// runner measures with options that are complete and checked.
type runner func(ctx context.Context, t Target, o Options) (Result, error)

// ErrUnknown means that there is no workload of that name.
var ErrUnknown = errors.New("unknown workload")

// Workloads returns all of them, in the order of the documentation.
func Workloads() []Workload {
	return []Workload{
		fillWorkload(),
		publishWorkload(), publishEngramsWorkload(), queryWorkload(), readHeadWorkload(), listWorkload(),
		liveWorkload(), wideWorkload(), countWorkload(), searchWorkload(), idleWorkload(), importWorkload(), diskWorkload(),
	}
}

// Find returns the workload of that name, or ErrUnknown.
func Find(name string) (Workload, error) {
	all := Workloads()
	names := make([]string, 0, len(all))
	for _, w := range all {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Workload{}, fmt.Errorf("%w %q: there are %s", ErrUnknown, name, strings.Join(names, ", "))
}

// Run measures t. Zero options take the workload's defaults. It ends within
// Options.Timeout or when ctx does. The errors are ErrOptions, those of
// errors.go, and those of files in the cache; there is a Result only without
// one.
func (w Workload) Run(ctx context.Context, t Target, o Options) (Result, error) {
	o, err := o.or(w.Defaults)
	if err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout, fmt.Errorf("%w: %v are over", ErrTimeout, o.Timeout))
	defer cancel()
	r, err := w.run(ctx, t, o)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", w.Name, err)
	}
	r.Workload, r.Unit, r.Options = w.Name, w.Unit, o
	if r.Server = t.Name; r.Server == "" {
		r.Server = t.URL
	}
	if r.Rate == 0 && r.Seconds > 0 {
		r.Rate = float64(r.Count) / r.Seconds
	}
	return r, nil
}
