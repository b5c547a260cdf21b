// Package terminal asks a person at the terminal, and shows there how far a command is.
package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

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
