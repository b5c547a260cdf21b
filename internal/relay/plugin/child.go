package plugin

import (
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// endGrace is what a process gets to end by itself before it is killed.
const endGrace = 500 * time.Millisecond

// child is one process with the three ends of its pipes.
type child struct {
	stdin  io.WriteCloser
	stdout io.Reader
	stderr io.Reader
	// end has it end, soon; it may be called several times.
	end func()
	// wait returns when the process is gone, and how it ended. Its output must
	// have been read to the end before.
	wait func() error
}

// spawn starts a program in a process group of its own, so that what it starts
// ends with it, and a terminal's interrupt is not its business. It dies with
// the thread that started it, which the caller must keep.
func spawn(command, env []string) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var ending sync.Once
	gone := make(chan struct{})
	group := -cmd.Process.Pid
	return &child{
		stdin: stdin, stdout: stdout, stderr: stderr,
		end: func() {
			ending.Do(func() {
				_ = stdin.Close()
				_ = syscall.Kill(group, syscall.SIGTERM)
				go func() {
					select {
					case <-gone:
						return
					case <-time.After(endGrace):
						_ = syscall.Kill(group, syscall.SIGKILL) // of whoever holds its output open, too
					}
					select {
					case <-gone:
					case <-time.After(endGrace):
						_ = stdout.Close() // held open by one who left the group
					}
				}()
			})
		},
		wait: func() error {
			defer close(gone)
			return cmd.Wait()
		},
	}, nil
}
