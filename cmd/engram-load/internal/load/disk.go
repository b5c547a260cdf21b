package load

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
)

// diskWorkload measures what stored events take on disk.
func diskWorkload() Workload {
	return Workload{
		Name: "disk", Unit: "bytes/event", Needs: NeedsNoRelay, run: runDisk,
		Help: "run a command line (exec) that stores count events, for notes, notes with two tags, and engrams, each in a new folder, " +
			"and compare what the folder takes on disk when the command has ended with the JSON of the events (NAME_ratio)",
		Defaults: Options{Count: 50_000, Connections: 1},
	}
}

// shapes are the kinds of events that disk stores.
var shapes = []struct {
	name string
	spec SetSpec
}{
	{"notes", SetSpec{Authors: 200}},
	{"tagged", SetSpec{Authors: 200, Tags: 2}},
	{"engrams", SetSpec{Authors: 100, Engrams: true}},
}

func runDisk(ctx context.Context, _ Target, o Options) (Result, error) {
	all := Result{Usage: &Usage{}, Extra: map[string]float64{}}
	bytes := 0.0
	for _, shape := range shapes {
		spec := shape.spec
		spec.Name, spec.Count, spec.Seed = "disk", o.Count, o.Seed
		set, err := PrepareSet(ctx, o.Cache, spec)
		if err != nil {
			return Result{}, err
		}
		ids, err := set.ids()
		if err != nil {
			return Result{}, err
		}
		n := float64(set.Len())
		f := filling{o: o, file: set.Path, ids: ids}
		r, err := f.run(ctx, func(data string) error {
			used, length, err := DiskUse(data)
			bytes += float64(used)
			all.Extra[shape.name+"_bytes_per_event"] = float64(used) / n
			all.Extra[shape.name+"_length_per_event"] = float64(length) / n
			all.Extra[shape.name+"_json_per_event"] = float64(set.Bytes()) / n
			all.Extra[shape.name+"_ratio"] = float64(used) / float64(set.Bytes())
			return err
		})
		if err != nil {
			return Result{}, fmt.Errorf("%s: %w", shape.name, err)
		}
		all.add(r)
	}
	all.Rate = bytes / float64(all.Count)
	return all, nil
}

// ids of all events of the set.
func (s *Set) ids() (map[ID]struct{}, error) {
	ids := make(map[ID]struct{}, s.Len())
	for i := range s.Len() {
		var id ID
		if _, err := hex.Decode(id[:], s.ID(i)); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", s.Path, i+1, err)
		}
		ids[id] = struct{}{}
	}
	return ids, nil
}

// lineID returns the id of an event on a line of its own.
func lineID(line []byte) (id ID, err error) {
	s := scan{b: line}
	var m Message
	if !s.event(&m) || s.peek() != 0 {
		return id, fmt.Errorf("%w: a line that is no event: %s", ErrProtocol, printable(line))
	}
	if _, err := hex.Decode(id[:], m.ID); err != nil {
		return id, fmt.Errorf("%w: a line whose id is none: %s", ErrProtocol, printable(line))
	}
	return id, nil
}

// DiskUse returns what a file, or all in a folder, takes on disk (its blocks,
// so holes are not counted), and its length, in bytes. A file that goes away
// meanwhile counts nothing; the error is of the file system.
func DiskUse(path string) (used, length int64, err error) {
	const block = 512 // the unit of st_blocks, whatever the file system's is
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				length += info.Size()
				if s, ok := info.Sys().(*syscall.Stat_t); ok {
					used += s.Blocks * block
				}
			}
		}
		if errors.Is(err, fs.ErrNotExist) && at != path {
			return nil
		}
		return err
	})
	return used, length, err
}
