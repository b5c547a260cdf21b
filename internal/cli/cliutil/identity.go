package cliutil

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/cli/terminal"
	"engramd/internal/client"
	"engramd/internal/platform/keychain"
)

// Identity is who asks, from the key that the settings name.
func (e *Env) Identity(ctx context.Context, s settings.Settings) (client.Identity, error) {
	secret, err := e.SecretKey(ctx, s.Key)
	if err != nil {
		return client.Identity{}, err
	}
	id, err := client.NewIdentity(secret)
	if err != nil {
		return client.Identity{}, exit.BadUsage(err)
	}
	return id, nil
}

// SecretKey reads the key in 64 hex digits, decrypted.
func (e *Env) SecretKey(ctx context.Context, from settings.KeySource) (string, error) {
	text, name := from.Inline, "ENGRAM_KEY"
	switch {
	case from == (settings.KeySource{}):
		return "", exit.Usagef("no key: give --key-file, set ENGRAM_KEY_FILE or ENGRAM_KEY, or name key_file in a profile (engramctl key new makes one)")
	case from.Stored != "":
		var err error
		name = "the key of " + from.Origin + " in the system's key store"
		text, err = e.Keychain.Get(ctx, from.Stored)
		if errors.Is(err, keychain.ErrNone) {
			return "", exit.Usagef("%s: %w (engramctl setup --key-store file keeps one in a file)", name, err)
		}
		if err != nil {
			return "", exit.Usagef("%s: %w", name, err)
		}
	case from.File != "":
		var err error
		name = "key file " + from.File
		text, err = settings.ReadPrivate("key file", from.File)
		if _, _, secret := settings.ParseSecret(filepath.Base(from.File)); errors.Is(err, fs.ErrNotExist) && secret == nil {
			return "", exit.Usagef("%s names a secret key where a file with one is wanted, and it has been seen by others now", from.Origin)
		}
		if err != nil {
			return "", exit.BadUsage(err)
		}
	}
	secret, encrypted, err := settings.ParseSecret(text)
	if err != nil {
		return "", exit.Usagef("%s: %w", name, err)
	}
	if encrypted == "" {
		return secret, nil
	}
	password, err := e.Password(ctx, "Password of "+name+": ")
	if err != nil {
		return "", err
	}
	if secret, err = settings.Decrypt(encrypted, password); err != nil {
		return "", exit.Usagef("%s: %w", name, err)
	}
	return secret, nil
}

// Password is that of the encrypted key: from the file that
// ENGRAM_KEY_PASSWORD_FILE names, else from the person at the terminal.
func (e *Env) Password(ctx context.Context, prompt string) (string, error) {
	if file := e.Vars["ENGRAM_KEY_PASSWORD_FILE"]; file != "" {
		return e.PasswordFrom(file)
	}
	if e.Terminal.Password == nil {
		return "", exit.Usagef("the key is encrypted, and there is no terminal to ask for its password: set ENGRAM_KEY_PASSWORD_FILE")
	}
	password, err := e.Terminal.Password(ctx, prompt)
	if errors.Is(err, terminal.ErrNoTerminal) {
		return "", exit.Usagef("the key is encrypted, and %w to ask for its password: set ENGRAM_KEY_PASSWORD_FILE", err)
	}
	return password, err
}

// PasswordFrom reads a file with a password: all of it but the end of its line.
func (e *Env) PasswordFrom(file string) (string, error) {
	text, err := settings.ReadPrivate("password file", e.Path(file))
	if err != nil {
		return "", exit.BadUsage(err)
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if text == "" {
		return "", exit.Usagef("password file %s is empty", file)
	}
	return text, nil
}

// NewPassword asks for a password twice, or reads it from a file.
func (e *Env) NewPassword(ctx context.Context, file string) (string, error) {
	if file != "" {
		return e.PasswordFrom(file)
	}
	if e.Terminal.Password == nil {
		return "", exit.Usagef("there is no terminal to ask for the new password: give --password-file")
	}
	first, err := e.Terminal.Password(ctx, "New password: ")
	if err != nil {
		return "", exit.BadUsage(err)
	}
	if first == "" {
		return "", exit.Usagef("an empty password protects nothing")
	}
	second, err := e.Terminal.Password(ctx, "The same again: ")
	if err != nil {
		return "", exit.BadUsage(err)
	}
	if first != second {
		return "", exit.Usagef("the two passwords differ")
	}
	return first, nil
}
