// Package terminal asks a person at the terminal, and shows there how far a command is.
package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// ErrNoTerminal is the error of a question where no terminal is.
var ErrNoTerminal = errors.New("there is no terminal")

// AskPassword asks at the terminal of the process, whatever stdin is, without
// showing what is typed. When ctx ends it gives up and leaves the terminal as
// it was.
func AskPassword(ctx context.Context, prompt string) (string, error) {
	return askTerminal(ctx, prompt, func(in *os.File) (string, error) {
		text, err := term.ReadPassword(int(in.Fd()))
		return string(text), err
	}, "\n")
}

// AskLine asks there for a line that is shown as it is typed.
func AskLine(ctx context.Context, prompt string) (string, error) {
	return askTerminal(ctx, prompt, readLine, "")
}

// readLine reads up to the end of a line, and not a byte more: what follows may be
// the next answer.
func readLine(in *os.File) (string, error) {
	const most = 4 << 10
	var line []byte
	for b := make([]byte, 1); len(line) < most; {
		n, err := in.Read(b)
		switch {
		case n == 1 && b[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			line = append(line, b[0])
		case err != nil:
			return "", fmt.Errorf("the answer was not given: %w", err)
		}
	}
	return "", errors.New("the answer is too long")
}

// askTerminal asks at the terminal; after is printed behind the answer.
func askTerminal(ctx context.Context, prompt string, read func(in *os.File) (string, error), after string) (string, error) {
	in, out, err := openTerminal()
	if err != nil {
		return "", ErrNoTerminal
	}
	end := func() error {
		if out == in {
			return in.Close()
		}
		return errors.Join(in.Close(), out.Close())
	}
	fd := int(in.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", errors.Join(ErrNoTerminal, end())
	}
	fmt.Fprint(out, prompt)
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := read(in)
		answers <- answer{text, err}
	}()
	select {
	case got := <-answers:
		fmt.Fprint(out, after)
		return got.text, errors.Join(got.err, end())
	case <-ctx.Done():
		// The read cannot be ended; it ends with the process.
		_ = term.Restore(fd, before)
		fmt.Fprintln(out)
		return "", fmt.Errorf("the answer was not given: %w", ctx.Err())
	}
}

// When a bar appears, and how often it changes.
const (
	progressAfter = 700 * time.Millisecond
	progressEvery = 100 * time.Millisecond
	progressWidth = 20
)

// Progress shows on a terminal that a long command is alive: a bar that fills
// up to the time limit, since nobody can know how much the relays will send,
// and how much has come. The zero progress counts and shows nothing.
type Progress struct {
	events atomic.Int64
	bytes  atomic.Int64
	// done and of are how much of what is known to come has come; 0: nobody knows.
	done, of atomic.Int64
}

// Reach says how much of what is known to come has come.
func (p *Progress) Reach(done, of int) {
	p.done.Store(int64(done))
	p.of.Store(int64(of))
}

// Of returns how much is known to come.
func (p *Progress) Of() int { return int(p.of.Load()) }

var eventFrame = []byte(`["EVENT"`)

// Trace counts what comes in; it is a client.Trace.
func (p *Progress) Trace(_ string, sent bool, frame []byte) {
	if sent {
		return
	}
	p.bytes.Add(int64(len(frame)))
	if bytes.HasPrefix(frame, eventFrame) {
		p.events.Add(1)
	}
}

// Show draws the bar on w until the function it returns is called, which
// removes it. limit is the time after which the command ends by itself.
func (p *Progress) Show(ctx context.Context, w io.Writer, limit time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	start := time.Now()
	go func() {
		defer close(done)
		drawn := false
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				if drawn {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-tick.C:
			}
			if took := time.Since(start); took >= progressAfter {
				fmt.Fprintf(w, "\r\x1b[K%s", p.line(took, limit))
				drawn = true
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// line returns the bar at a moment.
func (p *Progress) line(took, limit time.Duration) string {
	full := min(int(int64(progressWidth)*int64(took)/int64(limit)), progressWidth)
	if done, of := p.done.Load(), p.of.Load(); of > 0 {
		full = min(int(progressWidth*done/of), progressWidth)
		return fmt.Sprintf("[%s%s] %d of %d memories, %.1f s of %v", strings.Repeat("#", full), strings.Repeat(".", progressWidth-full), done, of, took.Seconds(), limit)
	}
	return fmt.Sprintf("[%s%s] %d records, %d KiB, %.1f s of %v", strings.Repeat("#", full), strings.Repeat(".", progressWidth-full),
		p.events.Load(), p.bytes.Load()>>10, took.Seconds(), limit)
}
