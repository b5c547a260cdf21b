package cliutil

import (
	"context"
	"fmt"
	"strings"

	"engramd/internal/agent/session"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/memory"
)

// MayBegin returns nil if a pair without a core is one that may begin its
// memory: the key is the agent's, and it remembers nothing for anybody else.
// Otherwise it is client.ErrNotFound with what the key can know, or why that is
// not known.
func MayBegin(ctx context.Context, m *session.Memory) error {
	others, status, err := m.Others(ctx)
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
