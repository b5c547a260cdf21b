package folder

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"engramd/internal/client"
	"engramd/internal/platform/files"
	"engramd/nips/nipae"
)

// MostFiles is how many files a folder may have.
const MostFiles = 100_000

// Tree is a folder. Everything in it goes through an os.Root, and no link in it
// is followed.
type Tree struct {
	root *os.Root
	dir  string
	lock *os.File
}

// Listing is what is in a folder.
type Listing struct {
	Files     []File            // that may be memories, by path
	Conflicts map[string]string // hashes of what lies beside files in conflict, by path
	Left      []Leaving         // what is no text that a memory can have
	Other     int               // files that do not end in .md
	index     string            // hash of index.md; "" without one
	left      map[string]bool   // paths of Left
}

// Leaving is a file that is left alone, and why.
type Leaving struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// blocked reports whether a path is one that is left alone, or lies below one: it
// is not gone.
func (l *Listing) blocked(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if l.left[p] {
			return true
		}
	}
	return false
}

// ErrChanged is a file that was changed while we were about to write it.
var ErrChanged = errors.New("changed in the folder meanwhile")

// ErrTooMany is a folder with more than MostFiles files.
var ErrTooMany = fmt.Errorf("the folder has more than %d files", MostFiles)

// ErrOurs means that what is to be a folder or a file of ours is something else.
var ErrOurs = errors.New("it is no plain file or folder")

// Open opens a folder, which must be there.
func Open(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Tree{root: root, dir: dir}, nil
}

// Create makes a folder for its user alone, unless it is there, and opens it.
func Create(dir string) (*Tree, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return Open(dir)
}

// Close ends the use of the folder.
func (t *Tree) Close() error {
	if t.lock != nil {
		_ = files.Unlock(t.lock)
	}
	return t.root.Close()
}

// Lock keeps other runs away from the folder; files.ErrLocked if there is one.
func (t *Tree) Lock() error {
	if err := t.parents(stateFile); err != nil {
		return err
	}
	name := inner + "/lock"
	if info, err := t.root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w", name, ErrOurs)
	}
	f, err := t.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := files.TryLock(f); err != nil {
		_ = f.Close()
		return err
	}
	t.lock = f
	// What git would carry elsewhere is of no use there.
	if _, err := t.root.Lstat(inner + "/.gitignore"); errors.Is(err, fs.ErrNotExist) {
		return t.replace(inner+"/.gitignore", []byte("*\n"), nil)
	}
	return nil
}

// Shared reports whether others on this machine may look into the folder.
func (t *Tree) Shared() bool {
	info, err := t.root.Stat(".")
	return err == nil && os.PathSeparator == '/' && info.Mode().Perm()&0o077 != 0
}

// InGit returns the git work tree that a folder lies in, "" if none.
func InGit(dir string) string {
	dir, err := filepath.Abs(dir)
	if real, e := filepath.EvalSymlinks(dir); e == nil {
		dir = real
	}
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, e := os.Lstat(filepath.Join(dir, ".git")); e == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
	return ""
}

// Scan lists the folder. Hidden files and folders are passed over.
func (t *Tree) Scan() (*Listing, error) {
	l := &Listing{Conflicts: map[string]string{}, left: map[string]bool{}}
	seen := 0
	err := fs.WalkDir(t.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p == ".":
			return nil
		case hidden(p) && d.IsDir():
			return fs.SkipDir
		case hidden(p):
			return nil
		}
		if seen++; seen > MostFiles {
			return ErrTooMany
		}
		if d.IsDir() {
			return nil
		}
		return t.look(l, p, d)
	})
	return l, err
}

// look takes one entry of the folder into the listing.
func (t *Tree) look(l *Listing, p string, d fs.DirEntry) error {
	leave := func(why string) error {
		l.Left, l.left[p] = append(l.Left, Leaving{p, why}), true
		return nil
	}
	text := isText(p) || isConflict(p) || p == IndexName
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		return leave("a symbolic link")
	case !text:
		l.Other++
		return nil
	case !d.Type().IsRegular():
		return leave("no plain file")
	case !utf8.ValidString(p):
		return leave("its name is not UTF-8")
	}
	data, err := t.read(p, most(p))
	switch {
	case errors.Is(err, fs.ErrNotExist): // it has just gone
		return leave("gone while it was read")
	case errors.Is(err, errTooLarge):
		return leave(err.Error())
	case err != nil:
		return leave("it cannot be read: " + reason(err))
	}
	hash := client.Hash(string(data))
	switch {
	case p == IndexName:
		l.index = hash
	case isConflict(p):
		l.Conflicts[p] = hash
	case !utf8.Valid(data):
		return leave("it is not UTF-8, and memory is text")
	case len(data) == 0:
		return leave("it is empty")
	default:
		l.Files = append(l.Files, File{Path: p, Hash: hash, Size: len(data)})
	}
	return nil
}

// most is how many bytes of a file are read.
func most(p string) int {
	if p == IndexName {
		return mostState
	}
	return nipae.MaxBody
}

var errTooLarge = fmt.Errorf("larger than the %d bytes that a memory can have", nipae.MaxBody)

// read reads a plain file. One that was exchanged for a link, a pipe or a device
// is not opened, or given back unread.
func (t *Tree) read(p string, most int) ([]byte, error) {
	before, err := t.root.Lstat(p)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, ErrOurs
	}
	f, err := t.root.OpenFile(p, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(before, now) {
		return nil, errors.Join(ErrChanged, err)
	}
	if before.Size() > int64(most) {
		return nil, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err == nil && len(data) > most {
		err = errTooLarge
	}
	return data, err
}

// text reads a file that has a hash, which it must still have.
func (t *Tree) text(f File) (string, error) {
	data, err := t.read(f.Path, most(f.Path))
	if errors.Is(err, fs.ErrNotExist) || err == nil && client.Hash(string(data)) != f.Hash {
		return "", ErrChanged
	}
	return string(data), err
}

// absent reports whether there is certainly nothing at a path.
func (t *Tree) absent(p string) bool {
	_, err := t.root.Lstat(p)
	return errors.Is(err, fs.ErrNotExist)
}

// parents makes the folders that a file lies in, none of which may be a link.
func (t *Tree) parents(p string) error {
	dir := path.Dir(p)
	if dir == "." {
		return nil
	}
	if err := t.parents(dir); err != nil {
		return err
	}
	if err := t.root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := t.root.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: %w", dir, ErrOurs)
	}
	return nil
}

// replace writes a file as a whole. expect is the file that is there, nil for
// any of ours, and one without a hash for none: if it is another, ErrChanged.
func (t *Tree) replace(p string, data []byte, expect *File) error {
	if err := t.parents(p); err != nil {
		return err
	}
	if err := t.parents(stateFile); err != nil {
		return err
	}
	tmp := inner + "/" + rand.Text() + ".tmp"
	if err := t.writeNew(tmp, data); err != nil {
		return err
	}
	defer func() { _ = t.root.Remove(tmp) }() // it is gone if it was renamed
	switch {
	case expect == nil:
		if info, err := t.root.Lstat(p); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %w", p, ErrOurs)
		}
	case expect.Hash == "":
		err := t.root.Link(tmp, p) // fails where something is
		if err == nil || errors.Is(err, fs.ErrExist) {
			if err != nil {
				return ErrChanged
			}
			return nil
		}
		if !t.absent(p) {
			return ErrChanged
		}
	default:
		if _, err := t.text(*expect); err != nil {
			return err
		}
	}
	return t.root.Rename(tmp, p)
}

func (t *Tree) writeNew(p string, data []byte) error {
	f, err := t.root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, bytes.NewReader(data))
	return errors.Join(err, f.Sync(), f.Close())
}

// remove deletes a file that is as it was, and the folders that are empty then.
func (t *Tree) remove(f File) error {
	if _, err := t.text(f); err != nil {
		return err
	}
	if err := t.root.Remove(f.Path); err != nil {
		return err
	}
	for dir := path.Dir(f.Path); dir != "." && dir != "mem"; dir = path.Dir(dir) {
		if t.root.Remove(dir) != nil { // something else is in it
			break
		}
	}
	return nil
}

// tidy deletes what a run that was killed left behind.
func (t *Tree) tidy() {
	entries, err := fs.ReadDir(t.root.FS(), inner)
	for _, e := range entries {
		if err == nil && strings.HasSuffix(e.Name(), ".tmp") {
			_ = t.root.Remove(inner + "/" + e.Name()) // it lies there, and does no harm
		}
	}
}

// reason is an error without the path, which stands before it.
func reason(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}

// hash returns the hash of a file, "" if there is none.
func (t *Tree) hash(p string) (string, error) {
	data, err := t.read(p, nipae.MaxBody)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", p, err)
	}
	return client.Hash(string(data)), nil
}
