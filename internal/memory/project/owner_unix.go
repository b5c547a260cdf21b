//go:build unix

package project

import (
	"os"
	"syscall"
)

// owned reports whether a file is this user's.
func owned(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// sameDevice reports whether two files lie in one file system.
func sameDevice(a, b os.FileInfo) bool {
	s, ok := a.Sys().(*syscall.Stat_t)
	o, ok2 := b.Sys().(*syscall.Stat_t)
	return ok && ok2 && s.Dev == o.Dev
}
