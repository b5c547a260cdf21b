package state

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// taken ends the name of a file that was set aside and taken over.
const taken = ".taken"

// copies begins the names of the folders in which QueuedIn reads, for less than copiesFor.
const (
	copies    = ".outbox-"
	copiesFor = 10 * time.Minute
)

// Aside returns the states of a pair in a folder that were set aside and not taken over,
// the oldest first. It removes what was left of reading them.
func Aside(p Pair, dir string) ([]string, error) {
	path, _, err := p.file(dir)
	if err != nil {
		return nil, err
	}
	left, _ := filepath.Glob(filepath.Join(globbed(filepath.Dir(path)), copies+"*"))
	for _, name := range left { // of a process that was killed
		if at, err := os.Stat(name); err == nil && time.Since(at.ModTime()) > copiesFor {
			_ = os.RemoveAll(name)
		}
	}
	all, err := filepath.Glob(globbed(path) + sealedfile.AsideMark + "*")
	return slices.DeleteFunc(all, func(name string) bool {
		return strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-shm") || strings.HasSuffix(name, taken)
	}), err
}

// globbed is a path of which no character stands for others.
func globbed(path string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}

// QueuedIn returns the writes that wait in a state which was set aside. The file is left
// as it is: a copy of it is read, which lies in dir meanwhile.
func QueuedIn(ctx context.Context, p Pair, file, dir string) (all []Queued, err error) {
	_, key, err := p.file(dir)
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(dir, copies) // 0700
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	copied := filepath.Join(tmp, "state")
	for _, suffix := range []string{"", "-wal"} {
		sealed, err := os.ReadFile(file + suffix)
		if err == nil {
			err = os.WriteFile(copied+suffix, sealed, 0o600)
		}
		if err != nil && (suffix == "" || !errors.Is(err, os.ErrNotExist)) {
			return nil, err
		}
	}
	damaged := false
	d := &db{}
	d.file, err = sealedfile.Open(ctx, copied, key, sealedfile.Options{What: "the state that was set aside", Application: application, Schema: schema,
		RefuseNewer: true, Warn: func(string) { damaged = true }})
	if err != nil {
		return nil, err
	}
	defer d.file.Close()
	if all, err = (Outbox{d}).All(ctx, ""); err == nil && damaged {
		err = fmt.Errorf("%w: nothing of it can be read", sealedfile.ErrDamaged)
	}
	return all, err
}

// Taken notes that what waited in a state that was set aside was taken over.
func Taken(file string) error {
	for _, suffix := range []string{"-shm", "-wal", ""} {
		if err := os.Rename(file+suffix, file+taken+suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
