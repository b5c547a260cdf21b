package anthropicfiles

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"engramd/internal/memory/write"
	"engramd/internal/platform/pattern"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const (
	// Root is the folder that all paths begin with.
	Root = "/memories"

	ending = ".md"
	// coreFile is the core, and memCore what would have its name.
	coreFile = Root + "/core.md"
	memCore  = Root + "/core"

	maxPath = 1024 // bytes
	// Segments of slugs that would be longer than maxSegment are cut to maxKept and
	// told apart by a hash.
	maxSegment = 64
	maxKept    = 55
)

// Path is where a file or a folder is. A Path is clean: it begins with Root, has no
// empty parts, and none that lead elsewhere.
type Path string

func refused(format string, a ...any) error { return Errorf(KindInvalid, format, a...) }

// encoded is how dots, slashes, backslashes and NUL stand in URLs.
var encoded = pattern.Later(`(?i)%(2e|2f|5c|00|25)`)

// Parse reads a path as a model writes it. folder says that it can only be that of
// a folder. The error is an *Error.
func Parse(text string) (path Path, folder bool, err error) {
	rest, ok := strings.CutPrefix(text, Root)
	switch {
	case len(text) > maxPath:
		return "", false, refused("The path is longer than %d bytes.", maxPath)
	case !visible(text):
		return "", false, refused("Path %s has characters that cannot be seen", strconv.QuoteToASCII(text))
	case !ok || rest != "" && rest[0] != '/':
		return "", false, refused("Path must start with /memories, got: %s", text)
	case strings.Contains(rest, `\`) || encoded().MatchString(rest):
		return "", false, refused("Path %s would escape /memories directory", text)
	}
	clean := Root
	for part := range strings.SplitSeq(rest, "/") {
		switch part {
		case "":
		case ".", "..":
			return "", false, refused("Path %s would escape /memories directory", text)
		default:
			if strings.HasSuffix(clean, ending) {
				return "", false, refused("The name of a directory cannot end in .md: %s", text)
			}
			clean += "/" + part
		}
	}
	return Path(clean), clean == Root || strings.HasSuffix(rest, "/"), nil
}

// visible reports whether a text is on one line and shows what it says: without
// control characters, those that turn the direction of writing, and those of no
// width.
func visible(text string) bool {
	return utf8.ValidString(text) && frontmatter.Visible(text) == text && !strings.ContainsFunc(text, unicode.IsControl)
}

// IsRoot reports whether it is the folder of everything.
func (p Path) IsRoot() bool { return p == Root }

// Note reports whether it can be a file only: folders do not end like that.
func (p Path) Note() bool { return strings.HasSuffix(string(p), ending) }

// Parents returns the folders that a path is in, the root not among them.
func (p Path) Parents() (all []Path) {
	for at := len(Root) + 1; at < len(p); at++ {
		if p[at] == '/' {
			all = append(all, p[:at])
		}
	}
	return all
}

// In reports whether a path is within a folder.
func (p Path) In(folder Path) bool { return strings.HasPrefix(string(p), string(folder)+"/") }

// Reserved reports whether a path is where only programs keep what is theirs, as a
// file or as a folder.
func (p Path) Reserved() bool {
	slug := slugOf(string(p))
	if !p.Note() {
		slug += "/"
	}
	return write.Reserved(nipae.Slug(slug))
}

// Slug returns the slug of a file. The error is an *Error.
func (p Path) Slug() (nipae.Slug, error) {
	if p == coreFile {
		return nipae.Core, nil
	}
	slug, err := nipae.ParseSlug(slugOf(string(p)))
	if err != nil {
		return "", refused("Path %s is too long for a file", p)
	}
	return slug, nil
}

// slugOf makes a slug of a path, which is too long at worst.
func slugOf(path string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, Root), "/")
	var parts []string
	for part := range strings.SplitSeq(strings.TrimSuffix(rest, ending), "/") {
		parts = append(parts, segment(part))
	}
	return "mem/" + strings.Join(parts, "/")
}

// segment makes a part of a slug of a name.
func segment(name string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	made := strings.TrimLeft(b.String(), "-_")
	if made != name {
		made = strings.TrimRight(made, "-")
	}
	switch {
	case made == "":
		return "x-" + digest(name)
	case len(made) > maxSegment:
		return strings.TrimRight(made[:maxKept], "-") + "-" + digest(name)
	}
	return made
}

func digest(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:4])
}

// natural returns the path of a slug that needs none in front matter.
func natural(slug nipae.Slug) Path {
	switch rest := strings.TrimPrefix(string(slug), "mem/"); {
	case slug.IsCore():
		return coreFile
	case rest == "core":
		return memCore
	default:
		return Path(Root + "/" + rest + ending)
	}
}

// Kept returns what the front matter of a file's memory must say of its path: ""
// if the slug says it all.
func (p Path) Kept(slug nipae.Slug) string {
	if p == natural(slug) {
		return ""
	}
	return string(p)
}

// Of returns the path of a memory.
func Of(slug nipae.Slug, text string) Path {
	if slug.IsCore() || !strings.HasPrefix(text, "---") {
		return natural(slug)
	}
	kept := frontmatter.Parse(text).Fields().Path
	path, folder, err := Parse(kept)
	if err != nil || folder || string(path) != kept {
		return natural(slug)
	}
	if at, err := path.Slug(); err != nil || at != slug {
		return natural(slug)
	}
	return path
}
