package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/client"
	"engramd/internal/platform/files"
	"engramd/internal/platform/keychain"
)

// maxKeyFile is more than any key file has, in bytes.
const maxKeyFile = 4 << 10

// identity is who asks, from the key that the settings name.
func (e *Env) identity(ctx context.Context, s settings) (client.Identity, error) {
	secret, err := e.secretKey(ctx, s.key)
	if err != nil {
		return client.Identity{}, err
	}
	id, err := client.NewIdentity(secret)
	if err != nil {
		return client.Identity{}, usageError{err}
	}
	return id, nil
}

// secretKey reads the key in 64 hex digits, decrypted.
func (e *Env) secretKey(ctx context.Context, from keySource) (string, error) {
	text, name := from.inline, "ENGRAM_KEY"
	switch {
	case from == (keySource{}):
		return "", usagef("no key: give --key-file, set ENGRAM_KEY_FILE or ENGRAM_KEY, or name key_file in a profile (engramctl key new makes one)")
	case from.stored != "":
		var err error
		name = "the key of " + from.origin + " in the system's key store"
		text, err = e.Keychain.Get(ctx, from.stored)
		if errors.Is(err, keychain.ErrNone) {
			return "", usagef("%s: %w (engramctl setup --key-store file keeps one in a file)", name, err)
		}
		if err != nil {
			return "", usagef("%s: %w", name, err)
		}
	case from.file != "":
		var err error
		name = "key file " + from.file
		text, err = readPrivate("key file", from.file)
		if _, _, secret := parseSecret(filepath.Base(from.file)); errors.Is(err, fs.ErrNotExist) && secret == nil {
			return "", usagef("%s names a secret key where a file with one is wanted, and it has been seen by others now", from.origin)
		}
		if err != nil {
			return "", usageError{err}
		}
	}
	secret, encrypted, err := parseSecret(text)
	if err != nil {
		return "", usagef("%s: %w", name, err)
	}
	if encrypted == "" {
		return secret, nil
	}
	password, err := e.password(ctx, "Password of "+name+": ")
	if err != nil {
		return "", err
	}
	if secret, err = decrypt(encrypted, password); err != nil {
		return "", usagef("%s: %w", name, err)
	}
	return secret, nil
}

// password is that of the encrypted key: from the file that
// ENGRAM_KEY_PASSWORD_FILE names, else from the person at the terminal.
func (e *Env) password(ctx context.Context, prompt string) (string, error) {
	if file := e.env["ENGRAM_KEY_PASSWORD_FILE"]; file != "" {
		return e.passwordFrom(file)
	}
	if e.Terminal.Password == nil {
		return "", usagef("the key is encrypted, and there is no terminal to ask for its password: set ENGRAM_KEY_PASSWORD_FILE")
	}
	password, err := e.Terminal.Password(ctx, prompt)
	if errors.Is(err, errNoTerminal) {
		return "", usagef("the key is encrypted, and %w to ask for its password: set ENGRAM_KEY_PASSWORD_FILE", err)
	}
	return password, err
}

// passwordFrom reads a file with a password: all of it but the end of its line.
func (e *Env) passwordFrom(file string) (string, error) {
	text, err := readPrivate("password file", e.path(file))
	if err != nil {
		return "", usageError{err}
	}
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if text == "" {
		return "", usagef("password file %s is empty", file)
	}
	return text, nil
}

// readPrivate reads a small file that nobody but its user may read. What is no
// file, a pipe for example, is nobody's business but the shell's.
func readPrivate(what, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", what, err)
	case info.IsDir():
		return "", fmt.Errorf("%s %s is a folder", what, path)
	}
	if how, err := files.Exposed(f); err != nil || how != "" {
		if err != nil {
			return "", fmt.Errorf("%s: %w", what, err)
		}
		return "", fmt.Errorf("%s %s %s, and think about whether the secret in it is still one", what, path, how)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if len(text) > maxKeyFile {
		return "", fmt.Errorf("%s %s is larger than %d bytes: that is something else", what, path, maxKeyFile)
	}
	return string(text), nil
}

// writePrivate makes a new file that only its user can read. It never writes
// over one.
func writePrivate(path, text string) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: keys are never written over", path)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path) // half a key is none
		}
	}()
	return files.WritePrivate(f, []byte(text))
}
