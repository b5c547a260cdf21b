//go:build unix

package project

import (
	"os"
	"syscall"
)

// sameDevice reports whether two files lie in one file system.
func sameDevice(a, b os.FileInfo) bool {
	s, ok := a.Sys().(*syscall.Stat_t)
	o, ok2 := b.Sys().(*syscall.Stat_t)
	return ok && ok2 && s.Dev == o.Dev
}
