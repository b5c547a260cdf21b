package thinker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"engramd/internal/secrets"
)

const (
	maxComplaint = 256 << 10 // bytes of stderr that are looked at
	shown        = 2 << 10   // and that are shown, of its end
)

// emptyFolder makes a folder, and removes those that were left behind under the
// same lock: whoever has that is alone with them. They lie where temporary files
// do, and not below the state, which a program that thinks is not to find above
// its own folder.
func emptyFolder(temp, lock string) (string, error) {
	id := sha256.Sum256([]byte(lock))
	prefix := "engram-think-" + hex.EncodeToString(id[:8]) + "-"
	if left, err := filepath.Glob(filepath.Join(cmp.Or(temp, os.TempDir()), prefix+"*")); err == nil {
		for _, dir := range left {
			_ = os.RemoveAll(dir) // somebody else's stays
		}
	}
	return os.MkdirTemp(temp, prefix) // 0700
}

// complaintOf is the end of what a program wrote to stderr, for people: without
// secrets, and without characters that a terminal obeys.
func complaintOf(text []byte, more bool) string {
	clean, _ := secrets.Redact(strings.ToValidUTF8(string(text), "?"))
	clean = strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, clean))
	if len(clean) > shown {
		clean = clean[len(clean)-shown:]
		if _, rest, has := strings.Cut(clean, "\n"); has {
			clean = rest
		}
		clean = "…\n" + strings.ToValidUTF8(clean, "")
	}
	if more {
		clean += "\n…"
	}
	if clean == "" {
		return ""
	}
	return ". It said:\n" + clean
}
