package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// readyWithin is how long a server may take to start: null reads a file of
	// 10⁶ events first.
	readyWithin = 3 * time.Minute
	// stopWithin is how long a server may take to end after SIGTERM.
	stopWithin = 30 * time.Second
	// lastLines are kept of what a server prints, for the text of a failure.
	lastLines = 8
	maxLine   = 64 << 10
)

// readyLine is what a server prints once it takes connections.
var readyLine = regexp.MustCompile(`\bready\b.*\burl=(wss?://[^\s"]+)`)

// process is a server that runs.
type process struct {
	cmd   *exec.Cmd
	url   string
	lines *tail
	ended chan struct{} // closed when it has ended
	err   error         // of its end; read it after ended
}

// startServer starts a command line and waits for its ready line, on either
// output. The process ends by stop, or with ctx.
func startServer(ctx context.Context, argv []string) (*process, error) {
	p := &process{cmd: exec.Command(argv[0], argv[1:]...), lines: &tail{}, ended: make(chan struct{})}
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ready, read := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(read)
		p.lines.read(out, func(line string) {
			if m := readyLine.FindStringSubmatch(line); m != nil {
				select {
				case ready <- m[1]:
				default:
				}
			}
		})
	}()
	go func() {
		p.err = p.cmd.Wait()
		in.Close()
		<-read // its last words are there when it has ended
		close(p.ended)
	}()
	select {
	case p.url = <-ready:
		return p, nil
	case <-p.ended:
		return nil, fmt.Errorf("%s ended before it was ready: %w", argv[0], p.failure())
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), p.stop())
	case <-time.After(readyWithin):
		return nil, errors.Join(fmt.Errorf("%s was not ready after %v:\n%s", argv[0], readyWithin, p.lines), p.stop())
	}
}

// alive reports whether it still runs.
func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// stop ends the process: politely, then not.
func (p *process) stop() error {
	if !p.alive() {
		return p.failure()
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopWithin):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end within %v", p.cmd.Path, stopWithin)
	}
}

// failure reports how a process ended by itself.
func (p *process) failure() error {
	if p.err == nil {
		return fmt.Errorf("it ended by itself:\n%s", p.lines)
	}
	return fmt.Errorf("%w:\n%s", p.err, p.lines)
}

// tail keeps the last lines of a text.
type tail struct {
	mu    sync.Mutex
	lines []string
}

// read takes all of r, line by line.
func (t *tail) read(r io.Reader, each func(string)) {
	in := bufio.NewReaderSize(r, maxLine)
	for {
		line, more, err := in.ReadLine()
		if err != nil {
			return
		}
		text := string(line)
		for more && err == nil { // what does not fit is left out
			_, more, err = in.ReadLine()
		}
		each(text)
		t.mu.Lock()
		if t.lines = append(t.lines, text); len(t.lines) > lastLines {
			t.lines = t.lines[1:]
		}
		t.mu.Unlock()
	}
}

// String returns what was kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}

// command runs a program to its end and returns its first line of output.
func command(ctx context.Context, argv []string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopWithin
	var out strings.Builder
	lines := &tail{}
	pipe, in := io.Pipe()
	cmd.Stdout, cmd.Stderr = &out, in
	read := make(chan struct{})
	go func() { lines.read(pipe, func(string) {}); close(read) }()
	err := cmd.Run()
	in.Close()
	<-read
	if err != nil {
		return "", fmt.Errorf("%s: %w:\n%s", strings.Join(argv, " "), err, lines)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	return first, nil
}
