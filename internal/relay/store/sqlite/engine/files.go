package engine

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
)

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
// its log files the same mode.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer f.Close()
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
