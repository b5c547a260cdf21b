//go:build unix

package folder

import "syscall"

// nonBlocking keeps a pipe in a file's place from stopping who opens it.
const nonBlocking = syscall.O_NONBLOCK
