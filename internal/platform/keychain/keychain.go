// Package keychain keeps secrets in the system's own store: the Keychain of
// macOS, the Credential Manager of Windows, the Secret Service of a desktop.
// No error repeats a secret, and none is ever an argument of a program.
package keychain

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zalando/go-keyring"
)

var (
	// ErrNone means that this system has no such store, or none that answers.
	ErrNone = errors.New("this system has no key store that answers")
	// ErrNotFound means that the store answers and has no such entry.
	ErrNotFound = errors.New("the key store has no such entry")
	// ErrExists means that there is an entry already, which is not written over.
	ErrExists = errors.New("the key store has an entry of that name already: keys are never written over")
)

// service is under what all entries stand.
const service = "engramctl"

// patience is how long the store may take: it may ask its user to unlock it.
const patience = 30 * time.Second

// Store is where secrets lie, each under a name.
type Store interface {
	// Get returns a secret. The error is ErrNone or ErrNotFound, or why else.
	Get(ctx context.Context, name string) (string, error)
	// Add keeps a new secret. The error is ErrExists besides those of Get.
	Add(ctx context.Context, name, secret string) error
}

// System is the store of the user who runs this process.
type System struct{}

// Get returns a secret.
func (System) Get(ctx context.Context, name string) (string, error) {
	return bounded(ctx, func() (string, error) { return keyring.Get(service, name) })
}

// Add keeps a new secret, and reads it back.
func (s System) Add(ctx context.Context, name, secret string) error {
	switch _, err := s.Get(ctx, name); {
	case err == nil:
		return fmt.Errorf("%w (%s)", ErrExists, name)
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if _, err := bounded(ctx, func() (string, error) { return "", keyring.Set(service, name, secret) }); err != nil {
		return err
	}
	kept, err := s.Get(ctx, name)
	if err == nil && kept != secret {
		err = errors.New("the key store did not keep what it was given")
	}
	return err
}

// bounded runs a call that cannot be told to end. What comes late is dropped.
func bounded(ctx context.Context, call func() (string, error)) (string, error) {
	if err := present(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	type answer struct {
		secret string
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		secret, err := call()
		answers <- answer{secret, err}
	}()
	select {
	case got := <-answers:
		switch {
		case errors.Is(got.err, keyring.ErrNotFound):
			return "", ErrNotFound
		case got.err != nil:
			return "", fmt.Errorf("%w: %w", ErrNone, got.err)
		}
		return got.secret, nil
	case <-ctx.Done():
		return "", fmt.Errorf("%w: it may be waiting to be unlocked (%w)", ErrNone, ctx.Err())
	}
}
