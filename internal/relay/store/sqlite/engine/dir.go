package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// PrepareDir creates the data folder with mode 0700, durably, or checks that an
// existing one is a folder and takes the access of others away. It also makes
// it the folder in which SQLite puts temporary files, unless the operator has
// named one in SQLITE_TMPDIR: they hold parts of events, and another folder may
// lie on another disk, in memory, or not be writable. They have no name there,
// so that the kernel removes them with the process. SQLite looks once, when the
// process opens its first database.
func PrepareDir(dir string) error {
	if err := makeDir(filepath.Clean(dir)); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("data folder: %s is not a folder", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("data folder %s is open to others and cannot be restricted: %w", dir, err)
		}
	}
	_, err = TempDir(dir)
	return err
}

// tempEnv is what SQLite knows its folder for temporary files by.
const tempEnv = "SQLITE_TMPDIR"

// TempDir is the folder for temporary files: the one that the operator has
// named in SQLITE_TMPDIR, else dir, which SQLite then uses as well.
func TempDir(dir string) (string, error) {
	if named := os.Getenv(tempEnv); named != "" {
		return named, nil
	}
	return dir, os.Setenv(tempEnv, dir)
}

// makeDir creates a folder and those above it that are missing. What is in a
// new folder survives a loss of power only if its name in the one above does.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncPath(parent)
}

// File is the database's path inside a data folder.
func File(dir string) string { return filepath.Join(dir, "engramd.db") }

// syncPath makes a file's content, or a folder's entries, durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
