package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrChanged means that a file is not what it was when its change was planned.
var ErrChanged = errors.New("the file was changed meanwhile: nothing was written there, run setup again")

// Apply makes the changes, each file in one step. It looks at all files first
// and begins only if none of them was changed since they were read; a file that
// changes later still is left as it is. Where one fails after others were made,
// the error names those: each stands by itself, and can be taken out or finished
// by running it again. made are the folders that were made for settings, here or
// before: no other goes.
func Apply(changes []Change, made *[]string) error {
	for _, c := range changes {
		if err := unchanged(c); err != nil {
			return err
		}
	}
	var done []string
	for _, c := range changes {
		if err := apply(c, made); err != nil && len(done) > 0 {
			return fmt.Errorf("%w (%s was changed before that, and stays so)", err, strings.Join(done, ", "))
		} else if err != nil {
			return err
		}
		done = append(done, c.Path)
	}
	return nil
}

func unchanged(c Change) error {
	now, err := os.ReadFile(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if c.Exists {
			return fmt.Errorf("%s: %w", c.Path, ErrChanged)
		}
		if _, err := os.Lstat(c.Path); err == nil {
			return fmt.Errorf("%s is a link to a file that is not there: make that file, or remove the link", c.Path)
		}
		return nil
	case err != nil:
		return fmt.Errorf("reading a harness's settings: %w", err)
	case !c.Exists || !bytes.Equal(now, c.Before):
		return fmt.Errorf("%s: %w", c.Path, ErrChanged)
	}
	return nil
}

func apply(c Change, made *[]string) error {
	if c.After == nil {
		return remove(c, made)
	}
	for i := len(c.Folders) - 1; i >= 0; i-- {
		if _, err := os.Lstat(c.Folders[i]); errors.Is(err, fs.ErrNotExist) && !slices.Contains(*made, c.Folders[i]) {
			*made = append(*made, c.Folders[i])
		}
		if err := os.MkdirAll(c.Folders[i], 0o700); err != nil {
			return fmt.Errorf("making a folder for a harness's settings: %w", err)
		}
	}
	path, mode := c.Path, c.Mode
	if c.Exists {
		// A link stays a link: people keep such files in a repository of theirs.
		var err error
		if path, err = filepath.EvalSymlinks(c.Path); err != nil {
			return fmt.Errorf("following %s: %w", c.Path, err)
		}
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("looking at %s: %w", path, err)
		}
		mode = info.Mode().Perm()
	}
	return replace(c, path, mode)
}

func replace(c Change, path string, mode fs.FileMode) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".engram-*")
	if err != nil {
		return fmt.Errorf("writing beside %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(c.After)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("writing beside %s: %w", path, err)
	}
	if err := unchanged(c); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("putting %s in its place: %w", path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// remove takes a file away that holds nothing but ours, and the folders that
// were made for it where they are empty.
func remove(c Change, made *[]string) error {
	if err := unchanged(c); err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks(c.Path)
	if err != nil {
		return fmt.Errorf("following %s: %w", c.Path, err)
	}
	for _, name := range []string{path, c.Path} { // the same one, but for a link
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", name, err)
		}
	}
	for _, folder := range c.Folders {
		at := slices.Index(*made, folder)
		if at < 0 || os.Remove(folder) != nil {
			break // it was there before, or is not empty: others use it
		}
		*made = slices.Delete(*made, at, at+1)
	}
	return nil
}

// syncFolder makes the new name last. Not every system can: Windows refuses to.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer d.Close()
	_ = d.Sync()
	return nil
}
