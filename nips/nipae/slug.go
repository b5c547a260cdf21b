package nipae

import (
	"errors"
	"fmt"
	"strings"
)

// Slug is the private name of a record: "core", or "mem/" and one or more
// segments between slashes (NIP-AE, "Slugs"). A Slug from ParseSlug or
// NormalizeSlug is valid; a conversion from string is not checked.
type Slug string

// Core is the slug of the one record that says who the agent is.
const Core Slug = "core"

const (
	// memoryPrefix begins every slug but Core.
	memoryPrefix = "mem/"
	// maxSlug and maxSegment are lengths in bytes.
	maxSlug    = 255
	maxSegment = 64
)

// ErrSlug is what every error of ParseSlug and NormalizeSlug is.
var ErrSlug = errors.New("not a slug")

// ParseSlug checks that s is a slug as it stands in a body: "core", or
// ^mem/[a-z0-9][a-z0-9_-]{0,63}(/[a-z0-9][a-z0-9_-]{0,63})*$ with at most 255
// bytes. The error is ErrSlug, says what is wrong, and does not repeat s.
func ParseSlug(s string) (Slug, error) {
	if s == string(Core) {
		return Core, nil
	}
	rest, ok := strings.CutPrefix(s, memoryPrefix)
	if !ok {
		return "", fmt.Errorf("%w: it is neither core nor begins with mem/", ErrSlug)
	}
	if len(s) > maxSlug {
		return "", fmt.Errorf("%w: it is longer than %d bytes", ErrSlug, maxSlug)
	}
	for segment := range strings.SplitSeq(rest, "/") {
		if err := checkSegment(segment); err != nil {
			return "", err
		}
	}
	return Slug(s), nil
}

// NormalizeSlug is ParseSlug for command lines: what is neither core nor
// begins with mem/ gets mem/ in front, so "foo" is mem/foo. Nothing else is
// changed or forgiven: case, spaces and empty segments are errors.
func NormalizeSlug(s string) (Slug, error) {
	if s != string(Core) && !strings.HasPrefix(s, memoryPrefix) {
		s = memoryPrefix + s
	}
	return ParseSlug(s)
}

// IsCore reports whether s is Core.
func (s Slug) IsCore() bool { return s == Core }

// checkSegment judges what stands between two slashes.
func checkSegment(segment string) error {
	switch {
	case segment == "":
		return fmt.Errorf("%w: a part of it is empty", ErrSlug)
	case len(segment) > maxSegment:
		return fmt.Errorf("%w: a part of it is longer than %d bytes", ErrSlug, maxSegment)
	case segment[0] == '_' || segment[0] == '-':
		return fmt.Errorf("%w: each part must begin with a letter or a digit", ErrSlug)
	}
	for i := 0; i < len(segment); i++ {
		if c := segment[i]; c == '/' || !isSlugByte(c) {
			return fmt.Errorf("%w: only a-z, 0-9, _ and - may stand in it", ErrSlug)
		}
	}
	return nil
}

// isSlugByte reports whether c occurs in slugs.
func isSlugByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '/'
}
