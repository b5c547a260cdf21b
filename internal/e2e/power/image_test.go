package power

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// The disks that a moment may leave.
var kinds = []string{"none", "all", "prefix", "subset", "torn"}

// left returns the changes that happen to be on a disk although nobody had synced
// them; nil where that kind of disk is the one called none.
func (d *disk) left(kind string, rng *rand.Rand) []*change {
	n := len(d.waiting)
	switch {
	case n == 0 || kind == "none":
		return nil
	case kind == "all":
		return d.waiting
	case kind == "prefix":
		return d.waiting[:rng.IntN(n)]
	case kind == "subset":
		var some []*change
		for _, c := range d.waiting {
			if rng.IntN(2) == 0 {
				some = append(some, c)
			}
		}
		return some
	}
	for ; n > 0; n-- {
		if c := d.waiting[n-1]; c.name == "" && !c.truncate {
			return append(slices.Clone(d.waiting[:n-1]), torn(c, rng)...)
		}
	}
	return nil
}

// torn returns some of the sectors of a write.
func torn(c *change, rng *rand.Rand) []*change {
	const sector = 512
	var some []*change
	for from := 0; from < len(c.data); {
		to := min(len(c.data), from+sector-int((c.at+uint64(from))%sector))
		if rng.IntN(2) == 0 {
			some = append(some, &change{file: c.file, at: c.at + uint64(from), data: c.data[from:to]})
		}
		from = to
	}
	return some
}

// write makes the files of a disk in a folder: what is durable, and those changes.
func (d *disk) write(folder string, left []*change) error {
	names := maps.Clone(d.durable)
	for _, c := range left {
		switch {
		case c.name != "" && !c.remove:
			names[c.name] = c.file
		case c.name != "" && names[c.name] == c.file:
			delete(names, c.name)
		}
	}
	for name, file := range names {
		if err := writeFile(d.place(folder, name), file, left); err != nil {
			return err
		}
	}
	if d.beside != nil {
		return os.WriteFile(d.place(folder, d.mark), d.beside, 0o600)
	}
	return nil
}

// place is where a file lies below another folder.
func (d *disk) place(folder, name string) string {
	rel, err := filepath.Rel(d.root, name)
	if err != nil {
		panic(err)
	}
	return filepath.Join(folder, rel)
}

func writeFile(path string, file *inode, left []*change) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(file.durable); err != nil {
		return err
	}
	for _, c := range left {
		switch {
		case c.file != file || c.name != "":
		case c.truncate:
			err = f.Truncate(int64(c.at))
		default:
			_, err = f.WriteAt(c.data, int64(c.at))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
