package foreign

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"engramd/nips/nipae"
)

const (
	maxSegment = 64  // bytes between two slashes of a slug
	maxSlug    = 240 // of a slug, so that "-part-64" has room
)

// segment makes a part of a slug of any name: lower case, and "-" for what may
// not stand there. A name that loses letters by that gets 8 hex digits of its
// hash, so that two of them do not become one. It is never empty.
func segment(name string) string {
	name = strings.TrimSpace(name)
	out, lost := plain(name)
	if !lost && out != "" && len(out) <= maxSegment {
		return out
	}
	if out = cut(out, maxSegment-9); out == "" {
		return hashOf(name)
	}
	return out + "-" + hashOf(name)
}

// folderName makes a part of a slug of a folder's name, such that two folders have
// two: the name itself where it is one in the letters of a slug, and before's if
// that was taken off, and else with 8 hex digits of its hash. before is what such
// names begin with, "" for nothing.
func folderName(before, name string) string {
	out, _ := plain(name)
	if before+out == name && len(out) <= maxSegment && !hashEnd.MatchString(out) {
		return out
	}
	if out = cut(out, maxSegment-9); out == "" {
		return hashOf(name)
	}
	return out + "-" + hashOf(name)
}

// foldersOf is segmentsOf, and keeps distinct folders distinct.
func foldersOf(name string) []string {
	parts := segmentsOf(name)
	for i, folder := range parts[:len(parts)-1] {
		parts[i] = folderName("", folder)
	}
	return parts
}

// hashEnd is how a name ends that has a hash.
var hashEnd = regexp.MustCompile(`(^|-)[0-9a-f]{8}$`)

// plain is a name in the letters of a slug, and whether others were lost.
func plain(name string) (out string, lost bool) {
	var b strings.Builder
	gap := false
	for _, c := range strings.ToLower(name) {
		ok := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' && b.Len() > 0
		if ok && gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		if ok {
			b.WriteRune(c)
		}
		lost = lost || c > 0x7f
		gap = !ok
	}
	return b.String(), lost
}

// cut shortens a part of a slug, at a "-" if there is one near.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:most]
	if at := strings.LastIndexByte(s, '-'); at > most/2 {
		s = s[:at]
	}
	return strings.TrimRight(s, "-")
}

func hashOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// told makes a part of a slug of a text that has no name: its first words and 8
// hex digits of what names it for good.
func told(text, id string) string {
	words := strings.Fields(text)
	head, _ := plain(strings.Join(words[:min(8, len(words))], " "))
	if head = cut(head, 40); head == "" {
		return hashOf(id)
	}
	return head + "-" + hashOf(id)
}

// slugOf puts names behind a prefix. Where that is too long, folders give way.
func slugOf(prefix string, names []string) (nipae.Slug, error) {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = segment(n)
	}
	whole := prefix + "/" + strings.Join(parts, "/")
	if len(whole) > maxSlug && len(parts) > 1 {
		whole = prefix + "/" + hashOf(strings.Join(names[:len(names)-1], "/")) + "/" + parts[len(parts)-1]
	}
	return nipae.ParseSlug(whole)
}
