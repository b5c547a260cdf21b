package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"
)

var errNoTerminal = errors.New("there is no terminal")

// askPassword asks at the terminal of the process, whatever stdin is, without
// showing what is typed. When ctx ends it gives up and leaves the terminal as it
// was.
func askPassword(ctx context.Context, prompt string) (string, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return "", errNoTerminal
	}
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", errors.Join(errNoTerminal, tty.Close())
	}
	fmt.Fprint(tty, prompt)
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := term.ReadPassword(fd)
		answers <- answer{text, err}
	}()
	select {
	case got := <-answers:
		fmt.Fprintln(tty)
		return string(got.text), errors.Join(got.err, tty.Close())
	case <-ctx.Done():
		// The read cannot be ended; it ends with the process.
		_ = term.Restore(fd, before)
		fmt.Fprintln(tty)
		return "", fmt.Errorf("the password was not given: %w", ctx.Err())
	}
}
