package project

import "os"

// owned reports whether a file is this user's: what others may write is theirs to
// guard where files have no plain owner.
func owned(os.FileInfo) bool { return true }

// sameDevice reports whether two files lie in one file system: a path from one to
// the other is of one volume.
func sameDevice(_, _ os.FileInfo) bool { return true }
