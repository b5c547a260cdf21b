package cliutil

import (
	"errors"
	"fmt"

	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Understood makes a usage error of what is wrong with the words of a command.
func Understood(err error) error {
	var claim *write.ClaimError
	if errors.As(err, &exit.UsageError{}) {
		return err
	}
	for _, target := range []error{write.ErrField, write.ErrReserved, frontmatter.ErrHead, frontmatter.ErrValue} {
		if errors.Is(err, target) {
			return exit.BadUsage(err)
		}
	}
	if errors.As(err, &claim) {
		return exit.BadUsage(err)
	}
	return err
}

// About adds to an error of one record which one that is, and what to do.
func About(slug nipae.Slug, entry client.Entry, err error) error {
	var absent *write.AbsentError
	switch {
	case errors.As(err, &absent):
		return About(absent.Slug, client.Entry{}, absent.Unwrap())
	case errors.Is(err, client.ErrTombstone) && entry.CreatedAt > 0:
		return fmt.Errorf("%s: %w at %s (engramctl mem log %[1]s shows what was before)", slug, err, Stamp(entry.CreatedAt))
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrTombstone):
		return fmt.Errorf("%s: %w", slug, err)
	case errors.Is(err, client.ErrUnreadable):
		return fmt.Errorf("%s: %w (engramctl mem log %[1]s shows its versions; the agent can write over it: mem set or mem rm with --over-unreadable)", slug, err)
	}
	return err
}

// Explained adds to a conflict what is there now and what to do.
func Explained(err error) error {
	var conflict *client.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	text := "read it again and redo the change"
	if conflict.Sent {
		text += "; what was sent is in mem log"
	}
	if t := conflict.Theirs; t != nil {
		return fmt.Errorf("%w; there now: %s; %s", err, describe(*t), text)
	}
	return fmt.Errorf("%w; %s", err, text)
}

// describe is one version in a few words.
func describe(e client.Entry) string {
	if e.Tombstone {
		return fmt.Sprintf("removed at %s", Stamp(e.CreatedAt))
	}
	return fmt.Sprintf("%d B of %s with hash %s", e.Size, Stamp(e.CreatedAt), e.Hash)
}

// FirstOf returns the first error of several that were met.
func FirstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
