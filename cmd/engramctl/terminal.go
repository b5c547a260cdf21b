package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/term"
)

var errNoTerminal = errors.New("there is no terminal")

// askPassword asks at the terminal of the process, whatever stdin is, without
// showing what is typed. When ctx ends it gives up and leaves the terminal as
// it was.
func askPassword(ctx context.Context, prompt string) (string, error) {
	in, out, err := openTerminal()
	if err != nil {
		return "", errNoTerminal
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
		return "", errors.Join(errNoTerminal, end())
	}
	fmt.Fprint(out, prompt)
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
		fmt.Fprintln(out)
		return string(got.text), errors.Join(got.err, end())
	case <-ctx.Done():
		// The read cannot be ended; it ends with the process.
		_ = term.Restore(fd, before)
		fmt.Fprintln(out)
		return "", fmt.Errorf("the password was not given: %w", ctx.Err())
	}
}
