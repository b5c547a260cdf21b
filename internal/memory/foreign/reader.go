package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what is read. What is beyond them is left, and said to be.
const (
	maxVisited = 200_000   // entries of folders
	maxDepth   = 32        // of folders
	maxItems   = 20_000    // things to remember
	maxText    = 1 << 20   // bytes of a file of notes
	maxExport  = 64 << 20  // bytes of a file that holds many memories
	maxBytes   = 256 << 20 // of all files
	maxLine    = 1 << 20   // bytes of a line in a file of lines
	maxLefts   = 2_000
)

// reader is one reading of a source.
type reader struct {
	fsys    fs.FS
	place   string
	only    string
	owner   string
	bytes   int64
	visited int
	drafts  []*draft
	lefts   []Left
	more    int // lefts beyond the bound
	// others are files of no interest by folder, told together.
	others map[string][]string
}

// leave notes what is not taken.
func (r *reader) leave(where, why string, args ...any) {
	if len(r.lefts) >= maxLefts {
		r.more++
		return
	}
	r.lefts = append(r.lefts, Left{shown(where), shown(fmt.Sprintf(why, args...))})
}

// leaveFile notes a file that is none of the source's; those of one folder are
// told together.
func (r *reader) leaveFile(name string) {
	if r.others == nil {
		r.others = map[string][]string{}
	}
	dir := path.Dir(name)
	r.others[dir] = append(r.others[dir], path.Base(name))
}

func (r *reader) leftAll() []Left {
	var dirs []string
	for dir := range r.others {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	for _, dir := range dirs {
		names := r.others[dir]
		if len(names) == 1 {
			r.leave(path.Join(dir, names[0]), "not a file that this source is known to have")
			continue
		}
		first := strings.Join(names[:min(3, len(names))], ", ")
		r.leave(dir, "%d files that this source is not known to have: %s …", len(names), first)
	}
	if r.more > 0 {
		r.lefts = append(r.lefts, Left{".", fmt.Sprintf("and %d more", r.more)})
	}
	return r.lefts
}

// files calls visit for each file in the order of their names; enter says which
// folders to go into (nil: all). Symbolic links are not followed, and what is
// neither a file nor a folder is left.
func (r *reader) files(enter func(dir string) bool, visit func(name string)) {
	if r.only != "" {
		visit(r.only)
		return
	}
	_ = fs.WalkDir(r.fsys, ".", func(name string, d fs.DirEntry, err error) error { // visit's errors are left
		if r.visited++; r.visited > maxVisited {
			r.leave(name, "this and what follows: more than %d entries of folders", maxVisited)
			return fs.SkipAll
		}
		switch {
		case err != nil:
			r.leave(name, "%s", reason(err))
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
		case name == ".":
		case d.Type()&fs.ModeSymlink != 0:
			r.leave(name, "a symbolic link, which is not followed")
		case d.IsDir() && strings.Count(name, "/") >= maxDepth:
			r.leave(name, "more than %d folders deep", maxDepth)
			return fs.SkipDir
		case d.IsDir():
			if enter != nil && !enter(name) {
				return fs.SkipDir
			}
		case !d.Type().IsRegular():
			r.leave(name, "neither a file nor a folder")
		default:
			visit(name)
		}
		return nil
	})
}

// reason is why a file cannot be read, without its whole path.
func reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// read returns a file of at most so many bytes.
func (r *reader) read(name string, most int64) ([]byte, bool) {
	// Not by Open: that of a pipe waits for whoever writes into it.
	if info, err := fs.Stat(r.fsys, name); err == nil && !info.Mode().IsRegular() {
		r.leave(name, "not a file")
		return nil, false
	}
	file, err := r.fsys.Open(name)
	if err != nil {
		r.leave(name, "%s", reason(err))
		return nil, false
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		r.leave(name, "%s", reason(err))
		return nil, false
	case int64(len(text)) > most:
		r.leave(name, "larger than %d bytes", most)
		return nil, false
	case r.bytes+int64(len(text)) > maxBytes:
		r.leave(name, "there are more than %d bytes in all", int64(maxBytes))
		return nil, false
	}
	r.bytes += int64(len(text))
	return bytes.TrimPrefix(text, []byte("\ufeff")), true
}

func (r *reader) text(name string) (string, bool) {
	raw, ok := r.read(name, maxText)
	if !ok {
		return "", false
	}
	if why := notText(string(raw)); why != "" {
		r.leave(name, "%s", why)
		return "", false
	}
	if strings.TrimSpace(string(raw)) == "" {
		r.leave(name, "empty")
		return "", false
	}
	return string(raw), true
}

// export reads a file that holds many memories.
func (r *reader) export(name string) ([]byte, bool) {
	raw, ok := r.read(name, maxExport)
	if why := notText(string(raw)); ok && why != "" {
		r.leave(name, "%s", why)
		return nil, false
	}
	return raw, ok
}

// notText says why bytes are no text that can be remembered; "" if they are.
func notText(s string) string {
	switch {
	case !utf8.ValidString(s):
		return "not UTF-8, and memory is text"
	case strings.ContainsRune(s, 0):
		return "not text: there is a NUL in it"
	}
	return ""
}

// shown is a name or a value as it may be printed and kept in one line: what
// could make a terminal or a reader show something else is replaced.
func shown(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c >= 0x200b && c <= 0x200f || c >= 0x2028 && c <= 0x202e || c >= 0x2066 && c <= 0x2069 || c == 0xfeff {
			return '\uFFFD'
		}
		return c
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// isNote reports whether a name is that of a Markdown file.
func isNote(name string) bool { return strings.EqualFold(path.Ext(name), ".md") }

// stem is a file's name without folder and extension.
func stem(name string) string {
	base := path.Base(name)
	return strings.TrimSuffix(base, path.Ext(base))
}
