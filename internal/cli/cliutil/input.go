package cliutil

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

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

// GuardManaged refuses secrets in what a relay keeps and shows to its managers.
func GuardManaged(texts ...string) error {
	for _, text := range texts {
		if err := secrets.Check(text); err != nil {
			return exit.Usagef("%w: it is on the command line and would be kept by the relay; treat it as known to others", err)
		}
	}
	return nil
}

// EventID takes an event id as people have it: note, nevent or hex.
func EventID(name, text string) (string, error) {
	lower := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "nostr:")
	if raw, err := hex.DecodeString(lower); err == nil && len(raw) == 32 {
		return lower, nil
	}
	if strings.HasPrefix(lower, "note1") || strings.HasPrefix(lower, "nevent1") {
		_, value, err := nip19.Decode(lower)
		switch v := value.(type) {
		case string:
			if err == nil && nostr.IsValid32ByteHex(v) {
				return v, nil
			}
		case nostr.EventPointer:
			if err == nil && nostr.IsValid32ByteHex(v.ID) {
				return v.ID, nil
			}
		}
		return "", exit.Usagef("%s: this note or nevent is damaged: a character is missing or mistyped", name)
	}
	if err := GuardManaged(text); err != nil {
		return "", err
	}
	return "", exit.Usagef("%s: want the id of an event, note1…, nevent1… or 64 hex digits", name)
}

// ReadFile reads a file, or stdin if the path is "-", and refuses more than so many
// bytes.
func ReadFile(e *Env, path string, most int) (string, error) {
	if path == "-" {
		return ReadAtMost(e.Stdin, most)
	}
	f, err := os.Open(e.Path(path))
	if err != nil {
		return "", err
	}
	defer f.Close()
	return ReadAtMost(f, most)
}
