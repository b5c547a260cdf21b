package cliutil

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/agent/session"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Understood makes a usage error of what is wrong with the words of a command.
func Understood(err error) error {
	input := []error{write.ErrField, write.ErrReserved, frontmatter.ErrHead, frontmatter.ErrValue}
	if _, claims := errors.AsType[*write.ClaimError](err); claims || slices.ContainsFunc(input, func(target error) bool { return errors.Is(err, target) }) {
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
	case errors.Is(err, client.ErrNotFound), errors.Is(err, client.ErrTombstone), errors.Is(err, client.ErrBehind):
		return fmt.Errorf("%s: %w", slug, err)
	case errors.Is(err, client.ErrUnreadable):
		return fmt.Errorf("%s: %w (engramctl mem log %[1]s shows its versions; the agent can write over it: mem set or mem rm with --over-unreadable)", slug, err)
	}
	return err
}

// Explained adds to a conflict what is there now and what to do, and to an expiry that
// would take along what is there how to let that go.
func Explained(err error) error {
	if takes, is := errors.AsType[*memory.TakesError](err); is {
		return fmt.Errorf("%w; \"with %s\" behind the time says that it may", err, takes.Newest)
	}
	var conflict *client.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	if conflict.Busy {
		return fmt.Errorf("%w; try again in a moment", err)
	}
	text := "read it again and redo the change"
	if errors.Is(err, client.ErrUnverified) {
		text += " if it is not there"
	}
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
func FirstOf(errs ...error) error { return cmp.Or(errs...) }

// MayBegin returns nil if a pair without a core is one that may begin its
// memory: the key is the agent's, it remembers nothing for anybody else, and there is
// no core for sure. Otherwise it is client.ErrNotFound with what the key can know, or
// why that is not known: see session.Memory.CoreAbsent.
func MayBegin(ctx context.Context, m *session.Memory) error {
	others, status, err := m.CoreAbsent(ctx)
	if err != nil {
		return err
	}
	if status.Partial {
		return fmt.Errorf("%w: whether this key has memory with others is not known", client.ErrPartial)
	}
	if m.Writable() && (others.Begun || len(others.Keys) == 0) {
		return nil
	}
	return fmt.Errorf("core: %w: %s", client.ErrNotFound, WithWhom(m, others))
}

// WithWhom reports what a key can know of a pair without a core, or without any
// memory.
func WithWhom(m *session.Memory, o memory.Others) string {
	owned := !m.Writable()
	agent, owner := settings.Npub(m.Agent()), settings.Npub(m.Owner())
	switch {
	case owned && o.Begun:
		return fmt.Sprintf("agent %s has other memory for this key, but no core", agent)
	case o.Begun:
		return "this agent has other memory for its owner, but no core"
	case owned && len(o.Keys) > 0:
		return fmt.Sprintf("agent %s remembers nothing for this key (%s); these agents do: %s (see engramctl agents ls)", agent, owner, someOf(o.Keys))
	case owned:
		return fmt.Sprintf("no agent remembers anything for this key (%s) on these relays; what %s remembers for another owner it cannot see: is it the owner's key?", owner, agent)
	case len(o.Keys) > 0:
		return fmt.Sprintf("this agent (%s) remembers nothing for owner %s, but for %s: is it the right owner? (engramctl mem set core begins a memory for a new one)", agent, owner, someOf(o.Keys))
	}
	return fmt.Sprintf("this key (%s) remembers nothing for anybody on these relays", agent)
}

// someOf returns a few public keys in a sentence.
func someOf(keys []string) string {
	const most = 5
	var out []string
	for _, k := range keys[:min(most, len(keys))] {
		out = append(out, settings.Npub(k))
	}
	if len(keys) > most {
		out = append(out, fmt.Sprintf("%d more", len(keys)-most))
	}
	return strings.Join(out, " and ")
}
