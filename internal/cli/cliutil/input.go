package cliutil

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/secrets"
	"engramd/nips/nipae"
)

// WriteNew writes a new file that only its user can read.
func WriteNew(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Sync(), f.Close())
}

// Guard refuses a text with a secret in it that is not there already, unless
// that is allowed.
func Guard(allow bool) func(old, text string) error {
	return secrets.Guard(allow, func(err error) error {
		return exit.Usagef("%w: what is remembered is signed and cannot be redacted later; --allow-secret writes it all the same", err)
	})
}

// Input reads a text that is to be remembered from stdin.
func Input(e *Env) (string, error) {
	if e.Terminal.Stdin {
		e.Note("reading from the terminal; Ctrl-D ends")
	}
	text, err := ReadAtMost(e.Stdin, nipae.MaxBody)
	if err != nil {
		return "", exit.Usagef("stdin: %w", err)
	}
	return text, nil
}

// CheckText refuses what cannot be in an engram.
func CheckText(text string) error {
	if !utf8.ValidString(text) {
		return exit.Usagef("the text is not UTF-8, and memory is text")
	}
	return nil
}

// ReadAtMost reads all of r, and refuses more than so many bytes.
func ReadAtMost(r io.Reader, most int) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return "", err
	}
	if len(text) > most {
		return "", fmt.Errorf("%w: more than %d bytes", client.ErrTooLarge, most)
	}
	return string(text), nil
}
