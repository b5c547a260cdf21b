package cliutil

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/agent/harness"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/secrets"
	"engramd/nips/nipae"
)

// WriteNew writes a new file that only its user can read. What cannot be written as a
// whole is not left behind.
func WriteNew(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
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

// Folder is where the command works; "" if that is not known.
func Folder(e *Env) string {
	folder := e.Dir
	if folder == "" {
		folder, _ = os.Getwd() // "" is no project
	}
	return folder
}

// StateFolder is the folder of what only this machine has.
func StateFolder(e *Env) string {
	return memorystate.Dir(func(name string) string { return e.Vars[name] }, e.Home())
}

// CacheFolder is the folder of local copies: in XDG_CACHE_HOME, else in what the
// system has for caches.
func CacheFolder(e *Env) (string, error) {
	if base := e.Vars["XDG_CACHE_HOME"]; filepath.IsAbs(base) {
		return filepath.Join(base, "engramd"), nil
	}
	base := Under(e.Home(), ".cache")
	switch runtime.GOOS {
	case "windows":
		base = cmp.Or(e.Vars["LOCALAPPDATA"], base)
	case "darwin":
		base = Under(e.Home(), "Library/Caches")
	}
	if base == "" {
		return "", errors.New("there is no folder for caches: set XDG_CACHE_HOME, or give --no-mirror")
	}
	return filepath.Join(base, "engramd"), nil
}

// Under joins a folder and a name; "" if there is no folder.
func Under(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// Roots is where the settings of harnesses lie.
func Roots(env *Env) harness.Roots {
	return harness.Roots{Home: env.Home(), ClaudeDir: env.Vars["CLAUDE_CONFIG_DIR"], CodexHome: env.Vars["CODEX_HOME"], CopilotHome: env.Vars["COPILOT_HOME"], ConfigDir: env.Vars["XDG_CONFIG_HOME"],
		Windows: runtime.GOOS == "windows"}
}

// Runnable reports whether a file may be run; Windows goes by the name.
func Runnable(info fs.FileInfo) bool {
	return runtime.GOOS == "windows" || info.Mode().Perm()&0o111 != 0
}

// Self is the path of this program as it is written into settings: that in PATH,
// if it is the same file, since what it leads to may go with the next version.
func Self(env *Env) (string, error) {
	self := env.Self
	if self == "" {
		var err error
		if self, err = os.Executable(); err != nil {
			return "", err
		}
	}
	info, err := os.Stat(self)
	if err != nil {
		return "", err
	}
	for _, dir := range filepath.SplitList(env.Vars["PATH"]) {
		path := filepath.Join(dir, filepath.Base(self))
		if other, err := os.Stat(path); filepath.IsAbs(path) && err == nil && os.SameFile(info, other) {
			return path, nil
		}
	}
	return self, nil
}
