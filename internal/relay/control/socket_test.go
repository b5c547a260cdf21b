package control

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"
)

// TestNoSocket: a file system without sockets is told from a socket that cannot be made.
func TestNoSocket(t *testing.T) {
	for errno, want := range map[syscall.Errno]bool{
		syscall.ENOSYS: true, syscall.EOPNOTSUPP: true, syscall.EPERM: true,
		syscall.EADDRINUSE: false, syscall.EACCES: false, syscall.ENOSPC: false,
	} {
		err := notListening(&net.OpError{Op: "listen", Net: "unix", Err: os.NewSyscallError("bind", errno)})
		if errors.Is(err, ErrNoSocket) != want || !errors.Is(err, errno) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}
