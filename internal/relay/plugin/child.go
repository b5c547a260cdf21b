package plugin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"

	"engramd/internal/relay/logging/redact"
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

const (
	maxComplaint    = 4 << 10 // bytes of a line
	complaintsRate  = 5       // lines per second
	complaintsBurst = 50
)

// logLines logs what a process says on standard error, at a rate: the start of
// each line, without keys and ids.
func logLines(from io.Reader, log *slog.Logger, lines *rate.Limiter) {
	in := bufio.NewReaderSize(from, maxComplaint)
	dropped := 0
	for {
		line, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of it is nobody's loss
			_, err = in.ReadSlice('\n')
		}
		switch text := redact.Plain(string(line)); {
		case len(line) <= 1:
		case lines.Allow():
			attrs := []any{"text", text}
			if dropped > 0 {
				attrs = append(attrs, "dropped", dropped)
				dropped = 0
			}
			log.Warn("the write policy program says", attrs...)
		default:
			dropped++
		}
		if err != nil {
			return
		}
	}
}
