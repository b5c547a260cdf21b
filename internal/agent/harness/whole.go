package harness

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"engramd/internal/platform/pattern"
)

// wholeFile is a file that is ours altogether. A line in it carries a checksum
// of the rest, so that we know whether a person changed it, whatever version of
// ours wrote it.
type wholeFile struct {
	label string
	text  string // with the words sumPlace where the checksum goes
}

const sumPlace = "written by `engramctl setup`, checksum "

var sumLine = pattern.Later("(?m)" + sumPlace + "([0-9a-f]{12})\\b")

// summed puts the checksum in.
func summed(text string) string {
	return strings.Replace(text, sumPlace, sumPlace+sum(text), 1)
}

func sum(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:6])
}

// whose reads the checksum. Line ends that an editor or git turned are no change.
func whose(src []byte) claim {
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	m := sumLine().FindStringSubmatchIndex(text)
	if m == nil {
		return foreign
	}
	if sum(text[:m[2]]+text[m[3]:]) != text[m[2]:m[3]] {
		return edited
	}
	return ours
}

func (f wholeFile) install(src []byte, exists, force bool) (result, error) {
	if exists && whose(src) != ours && !force {
		return result{text: src, exists: true, edited: []string{f.label}}, nil
	}
	return result{text: []byte(summed(f.text)), exists: true}, nil
}

// remove never takes a file that says nothing of us.
func (f wholeFile) remove(src []byte, exists, force bool) (result, error) {
	c := whose(src)
	switch {
	case c == ours || c == edited && force:
		return result{}, nil
	case c == edited:
		return result{text: src, exists: exists, edited: []string{f.label}}, nil
	}
	return result{text: src, exists: exists}, nil
}

func (f wholeFile) look(src []byte) (seen, error) {
	switch whose(src) {
	case ours:
		return seen{present: []string{f.label}}, nil
	case edited:
		return seen{present: []string{f.label}, edited: []string{f.label}}, nil
	}
	return seen{missing: []string{f.label}}, nil
}
