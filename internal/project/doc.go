// Package project says which project a folder is of, by a name that may stand in
// a slug: host, owner and name of its git remote "origin", or the name of the
// folder with a hash of its path.
//
// It reads .git/config itself and runs nothing: no include is followed, no
// program of the folder is started, and every file that it looks at is a regular
// one, of which a bounded part is read. Whoever made the folder chooses what is in
// there, and so can take the name of any project: a name is a claim, and proves
// nothing.
package project

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"path/filepath"
	"strings"
)

// Project is what a folder is of.
type Project struct {
	Folder string // its top, absolute, without symbolic links
	Name   string // its name in slugs: 1 to 64 of a-z, 0-9 and -; it begins and ends with a letter or digit
	Remote string // host/path of its repository, as github.com/ana/atlas; "" without one
	Last   string // the last level of Remote, or the folder's name
}

// maxName is how long a name may be; a longer one is cut to kept and a hash.
const (
	maxName = 64
	kept    = 55
	hashed  = 8 // hex digits
)

// Of returns the project of a folder that is there.
func Of(folder string) (Project, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return Project{}, err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return Project{}, err
	}
	top, config := repository(folder)
	p := Project{Folder: top, Last: filepath.Base(top)}
	if p.Name, p.Remote = named(originOf(config)); p.Name == "" {
		p.Name = local(top)
	} else {
		p.Last = path.Base(p.Remote)
	}
	return p, nil
}

// local names a folder that has no remote.
func local(folder string) string {
	name := clean(filepath.Base(folder))
	if name = strings.TrimRight(name[:min(len(name), kept)], "-"); name == "" {
		name = "folder"
	}
	return name + "-" + digest(folder)
}

// bounded cuts a name that is too long, so that it stays one of its own.
func bounded(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.TrimRight(name[:kept], "-") + "-" + digest(name)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:hashed]
}

// clean makes lower-case letters, digits and dashes of a text.
func clean(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s), "-")
}
