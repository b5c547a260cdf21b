package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"engramd/nips/nipae"
)

const (
	suffix         = ".md"
	conflictSuffix = ".conflict.md"
	// IndexName is the list of contents, which is written and never read.
	IndexName = "index.md"
	inner     = ".engram" // what is ours in the folder

	maxSegment = 64 // bytes between two slashes of a slug
	hashDigits = 8
)

// isDevice reports what Windows takes for a device, with any ending.
func isDevice(name string) bool {
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	digit, ok := strings.CutPrefix(name, "com")
	if !ok {
		digit, ok = strings.CutPrefix(name, "lpt")
	}
	return ok && len(digit) == 1 && digit[0] >= '0' && digit[0] <= '9'
}

// SlugOf returns the slug of a file that is not named for one yet: what is not
// below mem/ is put there, letters become small, and what may not stand in a
// slug becomes "-". A part that has nothing left, or is too long, is told by its
// hash.
func SlugOf(file string) (nipae.Slug, error) {
	parts := strings.Split(strings.TrimSuffix(norm.NFC.String(file), file[len(file)-len(suffix):]), "/")
	for i, p := range parts {
		parts[i] = segment(p)
	}
	slug, err := nipae.NormalizeSlug(strings.Join(parts, "/"))
	if err != nil {
		return "", fmt.Errorf("%q: no slug can be made of the name: %w", file, err)
	}
	return slug, nil
}

func segment(name string) string {
	var b strings.Builder
	gap := false
	for _, c := range norm.NFD.String(strings.ToLower(name)) {
		switch ok := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'; {
		case ok && b.Len() == 0 && (c == '_' || c == '-'): // no part begins so
		case ok:
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(c)
			gap = false
		case !unicode.Is(unicode.Mn, c): // an accent leaves its letter alone
			gap = true
		}
	}
	out := b.String()
	if out != "" && len(out) <= maxSegment {
		return out
	}
	sum := sha256.Sum256([]byte(norm.NFC.String(name)))
	told := hex.EncodeToString(sum[:])[:hashDigits]
	if out == "" {
		return told
	}
	return strings.TrimRight(out[:maxSegment-hashDigits-1], "-") + "-" + told
}

// PathOf returns the file of a slug that has none. What Windows takes for a
// device gets a "~", on every system: folders are carried from one to another.
func PathOf(s nipae.Slug) string {
	parts := strings.Split(string(s), "/")
	for i, p := range parts {
		if isDevice(p) {
			parts[i] = p + "~"
		}
	}
	return strings.Join(parts, "/") + suffix
}

// conflictPath is where the memory's text lies while a file is in conflict.
func conflictPath(file string) string { return file[:len(file)-len(suffix)] + conflictSuffix }

// isText reports whether a file is one that may be a memory.
func isText(file string) bool {
	name := strings.ToLower(file)
	return strings.HasSuffix(name, suffix) && !strings.HasSuffix(name, conflictSuffix) && name != IndexName && name != suffix
}

func isConflict(file string) bool { return strings.HasSuffix(strings.ToLower(file), conflictSuffix) }

// hidden reports whether a name is none of ours to look at.
func hidden(file string) bool { return strings.HasPrefix(path.Base(file), ".") }
