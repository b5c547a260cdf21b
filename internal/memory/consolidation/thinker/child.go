package thinker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"engramd/internal/memory/consolidation"
)

// Child is a Thinker that is a program: the plan is on its stdin, the operations
// on its stdout. It has a session and an empty folder of its own, nothing of
// ENGRAM_* but ENGRAM_HOOKS=off, and what it has started is ended with it.
type Child struct {
	// Command is a line of the shell.
	Command string
	Env     []string // "NAME=value"; what is ours is left out
	// Lock is where the turn lies that the caller has (Take): folders that were left
	// behind under it are removed.
	Lock  string
	Temp  string        // folder of temporary files; "" is the system's
	Limit time.Duration // of time; default DefaultLimit
	// Grace is what it gets to end by itself once it is told to; default 2 s.
	Grace time.Duration
}

var _ Thinker = (*Child)(nil)

const defaultGrace = 2 * time.Second

// errLimit is why a child is ended that takes too long.
var errLimit = errors.New("too long")

// Think starts the program and waits for its end.
func (c *Child) Think(ctx context.Context, plan string) (ops []consolidation.Op, err error) {
	if len(plan) > MaxPlan {
		return nil, fmt.Errorf("%w: the plan has more than %d bytes", ErrFailed, MaxPlan)
	}
	dir, err := emptyFolder(c.Temp, c.Lock)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	defer func() {
		if gone := os.RemoveAll(dir); gone != nil && err == nil {
			ops, err = nil, fmt.Errorf("%w: its folder stays: %w", ErrFailed, gone)
		}
	}()
	limit := cmp.Or(c.Limit, DefaultLimit)
	limited, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	said, complaint, err := c.run(limited, dir, plan)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(context.Cause(limited), errLimit) && err != nil:
		return nil, fmt.Errorf("%w: it did not end within %v, and was ended%s", ErrFailed, limit, complaint)
	case errors.Is(err, ErrAnswer):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w%s", ErrFailed, err, complaint)
	}
	return Answer(said)
}

// run returns what the program says, and what it complains of, for people.
func (c *Child) run(ctx context.Context, dir, plan string) (said []byte, complaint string, err error) {
	release, err := alone(ctx)
	if err != nil {
		return nil, "", err
	}
	defer release()
	// A child of Linux dies with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := shell(c.Command)
	cmd.Dir, cmd.Env = dir, Environment(c.Env, dir)
	p, err := plumb(cmd)
	if err != nil {
		return nil, "", err
	}
	defer p.close()
	family, err := begin(cmd)
	if err != nil {
		return nil, "", err
	}
	p.run(plan)
	err = c.watch(ctx, family, p)
	err = errors.Join(err, family.end())
	p.drain(cmp.Or(c.Grace, defaultGrace))
	if p.said.over {
		return nil, "", fmt.Errorf("%w: it is longer than %d bytes", ErrAnswer, MaxAnswer)
	}
	return p.said.Bytes(), complaintOf(p.complaint.Bytes(), p.complaint.over), err
}

// watch waits until the program ends, or has to.
func (c *Child) watch(ctx context.Context, family *family, p *plumbing) error {
	select {
	case <-family.gone:
		return nil
	case <-p.said.full:
	case <-ctx.Done():
	}
	family.ask()
	patience := time.NewTimer(cmp.Or(c.Grace, defaultGrace))
	defer patience.Stop()
	select {
	case <-family.gone:
	case <-patience.C:
	}
	return context.Cause(ctx) // none if it said too much
}

func shell(line string) *exec.Cmd {
	if runtime.GOOS == "windows" {
		return exec.Command("cmd", "/C", line)
	}
	return exec.Command("/bin/sh", "-c", line)
}

// plumbing is the three ends of a program's pipes. They are files, so that the
// program's end is known before everybody has closed what it got.
type plumbing struct {
	stdin, stdout, stderr *os.File
	theirs                []*os.File
	said, complaint       bounded
	read                  chan struct{} // closed once both outputs have ended
}

func plumb(cmd *exec.Cmd) (*plumbing, error) {
	p := &plumbing{
		said:      bounded{most: MaxAnswer, full: make(chan struct{})},
		complaint: bounded{most: maxComplaint, full: make(chan struct{})},
		read:      make(chan struct{}),
	}
	var err error
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		r, w, err = os.Pipe()
		return r, w
	}
	var in, out, complaints *os.File
	in, p.stdin = pipe()
	p.stdout, out = pipe()
	p.stderr, complaints = pipe()
	p.theirs = []*os.File{in, out, complaints}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("pipe: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, complaints
	return p, nil
}

// run begins to write the plan and to read what comes.
func (p *plumbing) run(plan string) {
	p.closeTheirs()
	go func() {
		// Who does not read it all may have an answer nevertheless.
		_, _ = io.WriteString(p.stdin, plan)
		_ = p.stdin.Close()
	}()
	complained := make(chan struct{})
	go func() {
		defer close(complained)
		_, _ = io.Copy(&p.complaint, p.stderr) // an output that breaks off has ended
	}()
	go func() {
		defer close(p.read)
		_, _ = io.Copy(&p.said, p.stdout)
		<-complained
	}()
}

// drain waits for what is in the pipes. Where somebody got away with one, it is
// closed after a while.
func (p *plumbing) drain(grace time.Duration) {
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-p.read:
	case <-patience.C:
		p.close()
		<-p.read
	}
}

func (p *plumbing) closeTheirs() {
	for _, f := range p.theirs {
		_ = f.Close() // nothing was written
	}
	p.theirs = nil
}

func (p *plumbing) close() {
	p.closeTheirs()
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		_ = f.Close() // the second time, in most cases
	}
}

// bounded keeps so many bytes, says when there are more, and goes on taking them.
type bounded struct {
	bytes.Buffer
	most int
	over bool
	full chan struct{}
}

// Write never fails.
func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - b.Len()
	if len(p) > room && !b.over {
		b.over = true
		close(b.full)
	}
	_, _ = b.Buffer.Write(p[:min(len(p), room)]) // a buffer takes everything
	return len(p), nil
}

// ReadFrom hides the buffer's, which knows no bound.
func (b *bounded) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}

// Environment is what a program gets of ours: nothing that begins with ENGRAM_,
// since keys and the files that they are in are named there, nor systemd's folder
// of credentials. ENGRAM_HOOKS=off ends our hooks and MCP server in it, and a
// configuration that is not there ends every other command of engramctl.
func Environment(env []string, dir string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		name = strings.ToUpper(name) // Windows knows no other
		if strings.HasPrefix(name, "ENGRAM_") || name == "CREDENTIALS_DIRECTORY" || name == "PWD" || name == "OLDPWD" {
			continue
		}
		out = append(out, kv)
	}
	return append(out, "PWD="+dir, "ENGRAM_HOOKS=off", "ENGRAM_CONFIG="+dir+".none") // which is not there
}
