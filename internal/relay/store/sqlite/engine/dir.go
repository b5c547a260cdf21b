package engine

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
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

// pageSize suits both notes of 500 bytes and engrams of 64 KiB: measured in the
// package's benchmarks.
const pageSize = 8192

// writerDSN and writerPragmas make the connection that writes. What matters for
// "OK means durable" is read back from it by tests: WAL with synchronous=FULL,
// so that COMMIT returns after the fsync of the log.
func writerDSN() url.Values {
	return url.Values{"_txlock": {"immediate"}}
}

func writerPragmas(cache int64) []string {
	return []string{
		"page_size=" + strconv.Itoa(pageSize), // before the first table; without effect afterwards
		"journal_mode=WAL",
		"synchronous=FULL",
		"secure_delete=ON",
		"cache_size=-" + strconv.FormatInt(cache/1024, 10),
		"temp_store=MEMORY", // savepoints keep their undo pages in memory; migrate says when not
		"trusted_schema=OFF",
		"wal_autocheckpoint=4000",
		"journal_size_limit=67108864",
	}
}

// createFile makes an empty database file that only we can read; SQLite gives
// its log files the same mode. Its name is durable before there is a log, which
// without it would be taken for one that lost its database.
func createFile(path string) error {
	_, missing := os.Lstat(path)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer f.Close()
	if missing != nil {
		if err := syncPath(filepath.Dir(path)); err != nil {
			return fmt.Errorf("open database: %w", err)
		}
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return fmt.Errorf("restrict database to its owner: %w", err)
		}
	}
	return nil
}

// copyFile copies a file, durably but for its name.
func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
