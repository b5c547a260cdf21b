//go:build unix

package doctor

import (
	"fmt"
	"os"
	"syscall"
)

// ownFile returns an error unless a file belongs to the user of this process.
func ownFile(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("key file %s belongs to user %d, and this is user %d", path, stat.Uid, os.Getuid())
	}
	return nil
}
