package setup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/platform/keychain"
)

// agentKey makes the agent's key, unless it is there.
func (s *setup) agentKey(ctx context.Context) error {
	if s.want.KeyStore == settings.StoreKeychain {
		return s.storedKey(ctx)
	}
	if IsThere(s.keyFile) {
		text, err := settings.ReadPrivate("key file", s.keyFile)
		if err != nil {
			return exit.BadUsage(err)
		}
		return s.keyThere(text, "key file "+s.keyFile, s.keyFile+" is there")
	}
	if s.old.KeyFile != "" {
		return exit.Usagef("key file %s is not there, and profile %q names it: with another key the agent has another memory, an empty one. Bring the file back, or name another profile with --profile",
			s.keyFile, s.name)
	}
	if s.f.dryRun {
		s.agent = "npub1…"
		return s.step("key", "would make %s", s.keyFile)
	}
	id, text, err := settings.NewKey("", 0)
	if err != nil {
		return err
	}
	if err := keepPrivate(s.keyFile, text+"\n"); err != nil {
		return exit.BadUsage(err)
	}
	s.agent = settings.Npub(id.PubKey())
	return s.step("key", "made %s: %s. Keep a copy of the file: who loses it loses the memory", s.keyFile, s.agent)
}

// keyThere says which key is there already.
func (s *setup) keyThere(text, name, there string) error {
	secret, _, err := settings.ParseSecret(text)
	if err == nil && secret == "" {
		return s.step("key", "%s, encrypted: the harness needs ENGRAM_KEY_PASSWORD_FILE", there)
	}
	var id client.Identity
	if err == nil {
		id, err = client.NewIdentity(secret)
	}
	if err != nil {
		return exit.Usagef("%s: %w", name, err)
	}
	s.agent = settings.Npub(id.PubKey())
	return s.step("key", "%s: %s", there, s.agent)
}

// storedKey is agentKey in the system's key store.
func (s *setup) storedKey(ctx context.Context) error {
	text, err := s.env.Keychain.Get(ctx, s.name)
	switch {
	case errors.Is(err, keychain.ErrNone):
		return exit.Usagef("%w: give --key-store %s", err, settings.StoreFile)
	case err == nil:
		return s.keyThere(text, fmt.Sprintf("the entry %q of the key store", s.name), fmt.Sprintf("is in the key store as %q", s.name))
	case !errors.Is(err, keychain.ErrNotFound):
		return exit.BadUsage(err)
	case s.old.KeyStore == settings.StoreKeychain:
		return exit.Usagef("the key store has no key for profile %q, which says that it is there: with another key the agent has another memory, an empty one. Name another profile with --profile", s.name)
	case s.f.dryRun:
		s.agent = "npub1…"
		return s.step("key", "would make one in the key store, as %q", s.name)
	}
	id, text, err := settings.NewKey("", 0)
	if err != nil {
		return err
	}
	if err := s.env.Keychain.Add(ctx, s.name, text); err != nil {
		return exit.BadUsage(err)
	}
	s.agent = settings.Npub(id.PubKey())
	return s.step("key", "made one in the key store, as %q: %s", s.name, s.agent)
}

// ownerKey makes the owner's key where that is asked for. Only its encrypted form
// is ever in a file.
func (s *setup) ownerKey(ctx context.Context) error {
	if !s.f.newOwner {
		return s.step("owner", "%s", s.want.Owner)
	}
	path := filepath.Join(filepath.Dir(s.config), s.name+".owner.ncryptsec")
	switch {
	case IsThere(path):
		return s.ownerThere(ctx, path)
	case s.old.Owner != "":
		return exit.Usagef("profile %q in %s has an owner already: name another profile with --profile", s.name, s.config)
	}
	if s.f.dryRun {
		s.want.Owner = "npub1…"
		return s.step("owner", "would make %s", path)
	}
	password, err := s.env.NewPassword(ctx, s.f.passwordFile)
	if err != nil {
		return err
	}
	id, text, err := settings.NewKey(password, s.env.KeyCost)
	if err != nil {
		return err
	}
	if err := keepPrivate(path, text+"\n"); err != nil {
		return exit.BadUsage(err)
	}
	s.want.Owner = settings.Npub(id.PubKey())
	return s.step("owner", "made %s, encrypted: %s. Keep a copy of the file, and remember the password", path, s.want.Owner)
}

// ownerThere takes the key that an earlier run has made; its password says which
// it is.
func (s *setup) ownerThere(ctx context.Context, path string) error {
	text, err := settings.ReadPrivate("the owner's key", path)
	if err != nil {
		return exit.BadUsage(err)
	}
	_, encrypted, err := settings.ParseSecret(text)
	if err != nil || encrypted == "" {
		return exit.Usagef("%s: no ncryptsec: %w", path, err)
	}
	var password string
	if s.f.passwordFile != "" {
		password, err = s.env.PasswordFrom(s.f.passwordFile)
	} else {
		password, err = s.env.Password(ctx, "Password of "+path+": ")
	}
	if err != nil {
		return err
	}
	secret, err := settings.Decrypt(encrypted, password)
	if err != nil {
		return exit.Usagef("%s: %w", path, err)
	}
	id, err := client.NewIdentity(secret)
	if err != nil {
		return exit.BadUsage(err)
	}
	if s.want.Owner = settings.Npub(id.PubKey()); sameKey(s.old.Owner, s.want.Owner) {
		s.want.Owner = s.old.Owner
	}
	return s.step("owner", "%s is there: %s", path, s.want.Owner)
}
