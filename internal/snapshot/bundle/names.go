package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// Extension ends the name of a bundle, AgeExtension that of an encrypted
	// one after it, SumExtension that of the file with its hash.
	Extension, AgeExtension, SumExtension = ".tar.zst", ".age", ".sha256"

	// DefaultTenant is the tenant of those who name none.
	DefaultTenant = "default"

	idTime = "20060102T150405Z"
)

// ErrName is what every error about a tenant, label or id is.
var ErrName = errors.New("not a valid name")

var (
	tenantRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)
	idRule     = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}$`)
	hex64Rule  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// CheckTenant checks a tenant's name: 1 to 64 of a-z, 0-9, _ and -, with a
// letter or digit at both ends. Nothing is folded: "Acme" is an error. The
// error is ErrName.
func CheckTenant(s string) error {
	if !tenantRule.MatchString(s) {
		return fmt.Errorf("tenant %.80q: %w: 1 to 64 of a-z, 0-9, _ and -, with a letter or digit at both ends", s, ErrName)
	}
	return nil
}

// CheckAgent checks that s is a public key: 64 lower-case hex digits. The error
// is ErrName.
func CheckAgent(s string) error {
	if !hex64Rule.MatchString(s) {
		return fmt.Errorf("agent %.80q: %w: a public key is 64 lower-case hex digits", s, ErrName)
	}
	return nil
}

// CheckLabel checks a label: at most 256 bytes of printable UTF-8 on one line;
// empty is none. The error is ErrName.
func CheckLabel(s string) error {
	if len(s) > maxLabel || !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("label %.80q: %w: at most %d bytes of printable text on one line", s, ErrName, maxLabel)
	}
	return nil
}

// CheckID checks that s has the form of a bundle's id, such as
// 20261120T235100Z-0123456789abcdef: UTC time and the first 16 hex digits of
// the manifest's SHA-256. The error is ErrName.
func CheckID(s string) error {
	if !idRule.MatchString(s) {
		return fmt.Errorf("snapshot %.80q: %w: an id is like 20261120T235100Z-0123456789abcdef", s, ErrName)
	}
	if _, err := time.Parse(idTime, s[:len(idTime)]); err != nil {
		return fmt.Errorf("snapshot %q: %w: no such time", s, ErrName)
	}
	return nil
}

// IDOf returns the id that the file name of a bundle says, and whether it is an
// encrypted one; ok is false for names that Write does not give.
func IDOf(fileName string) (id string, encrypted, ok bool) {
	rest, encrypted := strings.CutSuffix(fileName, AgeExtension)
	id, ok = strings.CutSuffix(rest, Extension)
	return id, encrypted, ok && CheckID(id) == nil
}

// FileName returns the name of the file of a bundle.
func FileName(id string, encrypted bool) string {
	if encrypted {
		return id + Extension + AgeExtension
	}
	return id + Extension
}

// In returns the path of a bundle in a folder; false if there is nothing of its
// names.
func In(dir, id string) (path string, found bool) {
	for _, encrypted := range []bool{false, true} {
		path = filepath.Join(dir, FileName(id, encrypted))
		if _, err := os.Lstat(path); err == nil {
			return path, true
		}
	}
	return "", false
}

// TimeOf returns the time that an id says; zero for what is no id.
func TimeOf(id string) time.Time {
	if CheckID(id) != nil {
		return time.Time{}
	}
	t, err := time.Parse(idTime, id[:len(idTime)])
	if err != nil {
		return time.Time{}
	}
	return t
}
