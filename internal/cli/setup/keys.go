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

// ownerPath is where the owner's key is, or is to be.
func (s *setup) ownerPath() string {
	return filepath.Join(filepath.Dir(s.config), s.name+".owner.ncryptsec")
}

// maxTries is how often a person may mistype a password.
const maxTries = 3

// findPassword opens the owner's key that an earlier run has made, or makes one that is
// not yet kept, where that is asked for.
func (s *setup) findPassword(ctx context.Context) error {
	switch {
	case !s.f.newOwner:
		return nil
	case !IsThere(s.ownerPath()) && s.old.Owner != "":
		return exit.Usagef("profile %q in %s has an owner already: name another profile with --profile", s.name, s.config)
	case s.f.dryRun:
		s.want.Owner = "npub1…"
		return nil
	}
	for try := 1; ; try++ {
		err := s.openOwner(ctx)
		if err == nil {
			break
		}
		if try == maxTries || !s.Answers() || s.f.passwordFile != "" {
			return err
		}
		s.env.Note("%v", err)
	}
	if s.want.Owner = settings.Npub(s.owner.PubKey()); sameKey(s.old.Owner, s.want.Owner) {
		s.want.Owner = s.old.Owner
	}
	return nil
}

// openOwner asks for a password once.
func (s *setup) openOwner(ctx context.Context) error {
	path := s.ownerPath()
	if !IsThere(path) {
		password, err := s.env.NewPassword(ctx, s.f.passwordFile)
		if err != nil {
			return err
		}
		id, text, err := settings.NewKey(password, s.env.KeyCost)
		s.owner, s.ownerText = &id, text
		return err
	}
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
	s.owner = &id
	return nil
}

// ownerKey keeps the owner's key that was made. Only its encrypted form is ever in a
// file.
func (s *setup) ownerKey(context.Context) error {
	path := s.ownerPath()
	switch {
	case !s.f.newOwner:
		return s.step("owner", "%s", s.want.Owner)
	case IsThere(path):
		return s.step("owner", "%s is there: %s", path, s.want.Owner)
	case s.f.dryRun:
		return s.step("owner", "would make %s", path)
	}
	if err := keepPrivate(path, s.ownerText+"\n"); err != nil {
		return exit.BadUsage(err)
	}
	return s.step("owner", "made %s, encrypted: %s. Keep a copy of the file, and remember the password", path, s.want.Owner)
}
