package state

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
)

// Dir returns the folder of the states of a user: that of XDG_STATE_HOME where
// it is set, else what the system has for it. env gives variables of the
// environment.
func Dir(env func(string) string, home string) string {
	if base := env("XDG_STATE_HOME"); filepath.IsAbs(base) { // the XDG specification has relative ones ignored
		return filepath.Join(base, "engramd")
	}
	local := env("LOCALAPPDATA")
	switch {
	case runtime.GOOS == "windows" && filepath.IsAbs(local):
		return filepath.Join(local, "engramd", "state")
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Application Support", "engramd")
	}
	return filepath.Join(home, ".local", "state", "engramd")
}

// placeOf is one value for the machine, the user and where the file is.
func placeOf(path string, machine func() (string, error)) ([]byte, error) {
	id, err := machine()
	if err != nil {
		return nil, fmt.Errorf("which machine this is: %w", err)
	}
	who, err := user.Current()
	if err != nil {
		return nil, fmt.Errorf("which user this is: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	h := sha256.New()
	for _, part := range []string{"engramd/place/v1", id, who.Uid, dir, filepath.Base(path)} {
		_ = binary.Write(h, binary.BigEndian, uint32(len(part))) // a hash takes everything
		h.Write([]byte(part))
	}
	return h.Sum(nil), nil
}

// Machine returns the system's id of this machine, or a random one that is kept
// where caches are, since those do not move with a user's settings.
func Machine() (string, error) {
	if id := systemMachine(); id != "" {
		return id, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return ownMachine(filepath.Join(base, "engramd", "machine-id"))
}

// ownMachine reads the id in a file, or draws one. Of two processes that draw at
// once, one gives the file its name.
func ownMachine(path string) (string, error) {
	for range 2 {
		text, err := os.ReadFile(path)
		if err == nil && len(strings.TrimSpace(string(text))) == 32 {
			return strings.TrimSpace(string(text)), nil
		}
		if err == nil { // cut off when it was written
			err = os.Remove(path)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if err := drawMachine(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s cannot be read", path)
}

func drawMachine(path string) error {
	var id [16]byte
	_, _ = rand.Read(id[:])
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(filepath.Dir(path), ".machine-id-*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name())
	_, err = draft.WriteString(hex.EncodeToString(id[:]) + "\n")
	if err = errors.Join(err, draft.Close()); err != nil {
		return err
	}
	return os.Link(draft.Name(), path) // fails where there is one
}
