package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"engramd/cmd/engram-load/internal/load"
)

// Options say how a configuration is run. Command lines run in the working
// folder.
type Options struct {
	Config   *Config
	Choice   Choice
	Cache    string // prepared events, filled folders, and the folders of running servers
	Out      string // file of results
	Resume   bool   // keep what Out has and do the rest; failures are done again
	Progress io.Writer
	Clock    func() time.Time // nil is time.Now
	// Settle is called before a server starts, so that what others wrote is not on
	// its way to the disk meanwhile; nil is sync(2).
	Settle func()
}

// ErrResume means that the results at hand are of other options.
var ErrResume = errors.New("cannot resume")

// runner is one call of Compare.
type runner struct {
	o       Options
	results *Results
	done    int
	total   int
	started time.Time
}

// Compare measures everything and returns the results, which it also writes to
// Options.Out after each run. A server that fails is a result; the error is
// that of the configuration, of files, or of the context.
func Compare(ctx context.Context, o Options) (*Results, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Settle == nil {
		o.Settle = unix.Sync
	}
	o.Cache = absolute(o.Cache)
	r := &runner{o: o, started: time.Now()}
	if err := os.MkdirAll(o.Cache, 0o755); err != nil {
		return nil, err
	}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	sessions := r.pending()
	if err := r.prepare(ctx, sessions); err != nil {
		return r.results, err
	}
	r.started = time.Now()
	for _, s := range sessions {
		if err := r.session(ctx, s); err != nil {
			return r.results, err
		}
	}
	return r.results, r.results.Write(o.Out)
}

// begin makes the results, or takes up those that are there.
func (r *runner) begin(ctx context.Context) error {
	fresh := &Results{
		Version: resultsVersion, Quick: r.o.Choice.Quick, Started: r.o.Clock().UTC(), Commit: commit(ctx),
		Versions: make(map[string]string), Config: *r.o.Config, Fills: []Fill{}, Runs: []Run{},
	}
	for _, s := range r.o.Config.Servers {
		if s.Version == "" || !chosen(r.o.Choice.Servers, s.Name) {
			continue
		}
		version, err := command(ctx, argv(s.Version, nil))
		if err != nil {
			return fmt.Errorf("version of %s: %w", s.Name, err)
		}
		fresh.Versions[s.Name] = version
	}
	r.results = fresh
	if r.o.Resume {
		old, err := ReadResults(r.o.Out)
		if err != nil {
			return err
		}
		if !same(old.Config, fresh.Config) || old.Quick != fresh.Quick {
			return fmt.Errorf("%w: %s was made with another configuration", ErrResume, r.o.Out)
		}
		old.Runs = slices.DeleteFunc(old.Runs, func(run Run) bool { return run.Failure != "" })
		r.results = old
		return nil
	}
	var err error
	r.results.Machine, err = thisMachine(r.o.Cache)
	return err
}

func same(a, b Config) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// pending returns the plan without what is done.
func (r *runner) pending() []session {
	var left []session
	for _, s := range r.o.Config.plan(r.o.Choice) {
		one := session{server: s.server, size: s.size}
		for _, p := range s.runs {
			if !r.results.has(p) {
				one.runs = append(one.runs, p)
			}
		}
		if len(one.runs) > 0 {
			left = append(left, one)
			r.total += len(one.runs)
		}
	}
	return left
}

// prepare makes corpora and filled folders before anything is measured.
func (r *runner) prepare(ctx context.Context, sessions []session) error {
	for _, s := range sessions {
		if s.size == 0 {
			continue
		}
		if _, err := os.Stat(load.CorpusPath(r.o.Cache, s.size, r.o.Config.Seed)); err != nil {
			r.progress("preparing a corpus of %d events", s.size)
		}
		if _, err := load.PrepareCorpus(ctx, r.o.Cache, s.size, r.o.Config.Seed); err != nil {
			return err
		}
		if s.server.Fill == "" {
			continue
		}
		if _, err := r.filled(ctx, s.server, s.size); err != nil {
			return err
		}
	}
	return nil
}

// session measures with one process; with another after a failure.
func (r *runner) session(ctx context.Context, s session) error {
	dir, err := os.MkdirTemp(r.o.Cache, "running-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var p *process
	defer func() {
		if p != nil {
			_ = p.stop()
		}
	}()
	for _, one := range s.runs {
		run := Run{Measure: one.measure.Name, Server: one.server.Name, Size: one.size, Round: one.round, At: r.o.Clock().UTC()}
		if run.Without = without(one); run.Without == "" {
			run.Result, err = r.attempt(ctx, s, one, dir, &p)
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			if err != nil {
				run.Failure = err.Error()
				if err := r.end(p); err != nil {
					r.progress("%s: %v", s.server.Name, err)
				}
				p = nil
			}
		}
		if err := r.keep(run); err != nil {
			return err
		}
	}
	if err := r.end(p); err != nil {
		r.progress("%s: %v", s.server.Name, err)
	}
	p = nil
	return nil
}

// attempt measures once; it starts the server if it does not run.
func (r *runner) attempt(ctx context.Context, s session, one planned, dir string, p **process) (*load.Result, error) {
	w, err := load.Find(one.measure.Workload)
	if err != nil {
		return nil, err
	}
	o := one.options(r.o.Config, r.o.Choice.Quick)
	o.Cache = r.o.Cache
	target := load.Target{Name: one.server.Name}
	if w.Needs != load.NeedsNoRelay {
		if *p == nil {
			started, err := r.start(ctx, s, dir)
			if err != nil {
				return nil, err
			}
			*p = started
		}
		target.URL, target.PID = (*p).url, (*p).cmd.Process.Pid
	}
	debug.FreeOSMemory() // what the last workload left is not collected in this one
	result, err := w.Run(ctx, target, o)
	if err == nil && *p != nil && !(*p).alive() {
		err = fmt.Errorf("the server: %w", (*p).failure())
	}
	if err != nil {
		return nil, err
	}
	return &result, nil
}

// without reports why a server is not measured; empty if it is.
func without(one planned) string {
	w, err := load.Find(one.measure.Workload)
	if err == nil && w.Needs == load.NeedsNoRelay && one.server.Import == "" {
		return "it has no command to import events"
	}
	return one.server.Without[one.measure.Name]
}

// start gives the server its folder, empty or filled, and starts it.
func (r *runner) start(ctx context.Context, s session, dir string) (*process, error) {
	data := filepath.Join(dir, "data")
	if err := os.RemoveAll(data); err != nil {
		return nil, err
	}
	line, values := s.server.Serve, map[string]string{"data": data}
	switch {
	case s.size == 0:
		if err := os.MkdirAll(data, 0o700); err != nil {
			return nil, err
		}
	case s.server.Fill != "":
		kept, err := r.filled(ctx, s.server, s.size)
		if err != nil {
			return nil, err
		}
		if err := copyDir(filepath.Join(kept, "data"), data); err != nil {
			return nil, err
		}
	default:
		line, values["file"] = s.server.ServeFilled, load.CorpusPath(r.o.Cache, s.size, r.o.Config.Seed)
	}
	r.o.Settle()
	return startServer(ctx, argv(line, values))
}

// end stops a process that may not be there.
func (r *runner) end(p *process) error {
	if p == nil {
		return nil
	}
	return p.stop()
}

// keep adds a run to the file.
func (r *runner) keep(run Run) error {
	r.done++
	what := run.Failure
	switch {
	case run.Result != nil:
		what = fmt.Sprintf("%.0f %s in %.1f s", run.Result.Rate, run.Result.Unit, run.Result.Seconds)
		if l := run.Result.Latency; l != nil {
			what += fmt.Sprintf(", p50 %.0f µs, p99 %.0f µs", l.P50, l.P99)
		}
	case run.Without != "":
		what = "left out: " + run.Without
	}
	size := ""
	if run.Size > 0 {
		size = fmt.Sprintf(" at %d", run.Size)
	}
	r.progress("[%d/%d] round %d, %s%s, %s: %s", r.done, r.total, run.Round, run.Measure, size, run.Server, what)
	r.results.Runs = append(r.results.Runs, run)
	r.results.Ended = r.o.Clock().UTC()
	return r.results.Write(r.o.Out)
}

func (r *runner) progress(format string, args ...any) {
	if r.o.Progress != nil {
		fmt.Fprintf(r.o.Progress, "%5.0f s  %s\n", time.Since(r.started).Seconds(), fmt.Sprintf(format, args...))
	}
}

// commit names the state of the working folder; empty outside of git.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
