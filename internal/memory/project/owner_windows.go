package project

import "os"

// sameDevice reports whether two files lie in one file system: a path from one to
// the other is of one volume.
func sameDevice(_, _ os.FileInfo) bool { return true }
