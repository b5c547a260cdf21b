package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// importWorkload measures a program that fills a relay's folder.
func importWorkload() Workload {
	return Workload{
		Name: "import", Unit: "events/s", Needs: NeedsNoRelay, run: runImport,
		Help: "run a command line (exec) that stores a corpus of count events, from its start to its end. What it stored is " +
			`compared with what check prints (JSON Lines); without check it must print "N stored" or "N events"`,
		Defaults: Options{Count: 100_000, Connections: 1},
	}
}

func runImport(ctx context.Context, _ Target, o Options) (Result, error) {
	c, err := PrepareCorpus(ctx, o.Cache, o.Count, o.Seed)
	if err != nil {
		return Result{}, err
	}
	ids := make(map[ID]struct{}, c.Size)
	for i := range c.Entries {
		ids[c.Entries[i].ID] = struct{}{}
	}
	f := filling{o: o, file: c.Path, ids: ids}
	r, err := f.run(ctx, nil)
	if err != nil {
		return Result{}, err
	}
	r.Extra = map[string]float64{"bytes_per_event": float64(c.Bytes)/float64(c.Size) - 1} // without the line's end
	return r, nil
}

// filling runs Options.Exec over a file of events and a new folder.
type filling struct {
	o    Options
	file string
	ids  map[ID]struct{} // of the events
}

// run runs the command, proves that it stored what it should, and calls then
// with the folder, which is removed afterwards.
func (f filling) run(ctx context.Context, then func(data string) error) (r Result, err error) {
	if !strings.Contains(f.o.Exec, "{file}") || !strings.Contains(f.o.Exec, "{data}") {
		return Result{}, fmt.Errorf("%w: exec must be a command line with {file} and {data}", ErrOptions)
	}
	// Beside the cache, which is on a disk as a rule, where /tmp may not be.
	data, err := os.MkdirTemp(f.o.Cache, "data-")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	if err := readThrough(f.file); err != nil {
		return Result{}, err
	}
	p := program{line: f.o.Exec, data: data, file: f.file}
	own := ownCPU()
	done, err := p.run(ctx, nil)
	if err != nil {
		return Result{}, err
	}
	r = Result{Seconds: done.took.Seconds(), Count: len(f.ids), ClientCPU: (ownCPU() - own).Seconds(), Usage: &done.usage}
	r.CPUPerOp = (r.CPUUser + r.CPUSystem) * 1e6 / float64(len(f.ids))
	if f.o.Check == "" {
		err = f.told(done.tail)
	} else {
		err = f.compare(ctx, program{line: f.o.Check, data: data, file: f.file})
	}
	if err == nil && then != nil {
		err = then(data)
	}
	if err != nil {
		return Result{}, err
	}
	return r, nil
}

// readThrough brings a file into the page cache, so that no program is the
// first to read it.
func readThrough(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}

// stored is how a program tells how much it stored.
var stored = regexp.MustCompile(`\b([0-9]{1,18}) (?:events? )?(?:stored|imported|events)\b`)

// told compares the number that the program printed last.
func (f filling) told(text string) error {
	all := stored.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return fmt.Errorf("%w: the command does not tell how many events it stored, and there is no check", ErrOptions)
	}
	last := all[len(all)-1][1]
	if n, err := strconv.Atoi(last); err != nil || n != len(f.ids) {
		return fmt.Errorf("%w: %s events were stored of %d", ErrWrong, last, len(f.ids))
	}
	return nil
}

// compare runs the program that prints what is stored. It must be every event
// once, and no other.
func (f filling) compare(ctx context.Context, p program) error {
	seen := make(map[ID]struct{}, len(f.ids))
	_, err := p.run(ctx, func(out io.Reader) error {
		return lines(out, func(line []byte) error {
			id, err := lineID(line)
			if err != nil {
				return err
			}
			if _, known := f.ids[id]; !known {
				return fmt.Errorf("%w: %s is stored and was not in the file", ErrWrong, id.Hex())
			}
			if _, twice := seen[id]; twice {
				return fmt.Errorf("%w: %s is stored twice", ErrWrong, id.Hex())
			}
			seen[id] = struct{}{}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	if len(seen) != len(f.ids) {
		return fmt.Errorf("%w: %d events are stored of %d", ErrWrong, len(seen), len(f.ids))
	}
	return nil
}
