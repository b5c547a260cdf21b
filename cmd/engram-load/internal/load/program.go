package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	maxTail    = 16 << 10 // bytes kept of what a program prints
	programEnd = 5 * time.Second
)

// program is a command line that is run without a shell. {data} and {file} in
// its words stand for a folder and a file of events.
type program struct {
	line string
	data string
	file string
}

// ran is what a program did that ended with exit code 0.
type ran struct {
	took  time.Duration // from its start to its end
	usage Usage
	tail  string // the end of what it printed, both streams
}

// words splits the command line at blanks. A part in single or double quotes
// holds blanks; nothing else is special.
func (p program) words() ([]string, error) {
	var all []string
	var word strings.Builder
	begun, quote := false, rune(0)
	for _, r := range p.line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%w: a quote in %q does not end", ErrOptions, p.line)
	}
	if begun {
		all = append(all, word.String())
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: the command line is empty", ErrOptions)
	}
	fill := strings.NewReplacer("{data}", p.data, "{file}", p.file)
	for i := range all {
		all[i] = fill.Replace(all[i])
	}
	return all, nil
}

// run runs the program and gives its output to read, which may be nil. It is
// killed when ctx ends.
func (p program) run(ctx context.Context, read func(io.Reader) error) (ran, error) {
	words, err := p.words()
	if err != nil {
		return ran{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	tail := &tail{}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = tail, tail, programEnd
	var out io.ReadCloser
	if read != nil {
		cmd.Stdout = nil
		if out, err = cmd.StdoutPipe(); err != nil {
			return ran{}, err
		}
	}
	own, _ := Probe(os.Getpid())
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return ran{}, fmt.Errorf("%w: run %s: %w", ErrOptions, words[0], err)
	}
	watched := watch(cmd.Process.Pid)
	var unread error
	if read != nil {
		if unread = read(out); unread != nil {
			cancel()
		}
	}
	err = cmd.Wait()
	took := time.Since(start)
	seen := watched()
	if unread != nil {
		return ran{}, unread
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = errors.Join(cause, err)
		}
		return ran{}, fmt.Errorf("%s: %w: %s", words[0], err, printable([]byte(tail.last())))
	}
	return ran{took, usageOf(cmd, own.Peak, seen), tail.String()}, nil
}

// watchEvery is how often a running program is looked at.
const watchEvery = 10 * time.Millisecond

// watch looks at a process until the function that it returns is called, which
// gives the peak that was seen, in KiB.
func watch(pid int) (seen func() int64) {
	end, peak := make(chan struct{}), make(chan int64)
	go func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		var most int64
		for {
			if s, err := probe("/proc", pid); err == nil {
				most = max(most, s.Peak)
			}
			select {
			case <-tick.C:
			case <-end:
				peak <- most
				return
			}
		}
	}()
	return func() int64 {
		close(end)
		return <-peak
	}
}

// usageOf returns what a program took that has ended, its children included.
//
// Linux counts to a program's peak what its parent had when it was started: the
// kernel's word is the program's own only above that. Below it, what was seen
// of the program is, unless it was too short for that.
func usageOf(cmd *exec.Cmd, own, seen int64) Usage {
	s := cmd.ProcessState
	u := Usage{CPUUser: s.UserTime().Seconds(), CPUSystem: s.SystemTime().Seconds(), RSSPeak: seen}
	if r, ok := s.SysUsage().(*syscall.Rusage); ok && (r.Maxrss > own || seen == 0) {
		u.RSSPeak = r.Maxrss
	}
	return u
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// Write keeps the last maxTail bytes.
func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	if len(t.b) > 2*maxTail {
		t.b = bytes.Clone(t.b[len(t.b)-maxTail:])
	}
	return len(b), nil
}

// String returns all that is kept.
func (t *tail) String() string { return string(t.b) }

// last returns the last line that is not empty.
func (t *tail) last() string {
	text := strings.TrimSpace(t.String())
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// lines calls f with each line of r that is not empty.
func lines(r io.Reader, f func([]byte) error) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), MaxMessage)
	for s.Scan() {
		if line := bytes.TrimSpace(s.Bytes()); len(line) > 0 {
			if err := f(line); err != nil {
				return err
			}
		}
	}
	return s.Err()
}
