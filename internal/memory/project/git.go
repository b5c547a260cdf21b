package project

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/platform/files"
)

// Bounds of what is read.
const (
	maxUp      = 64        // folders above
	maxConfig  = 256 << 10 // bytes of a config; a longer one is not looked at
	maxPointer = 4 << 10   // bytes of a .git file, or of commondir
)

type repository struct {
	top    string // of the work tree; the folder itself where there is none
	dir    string // the git directory of this work tree; "" without one, or in doubt
	config string
	clone  string
	// doubt is why the .git at doubtAt is not believed.
	doubt, doubtAt string
}

// find looks for the repository that a folder lies in. vouched believes what stands
// there.
func find(folder string, vouched bool) repository {
	at := folder
	for range maxUp {
		git := filepath.Join(at, ".git")
		if info, err := os.Lstat(git); err == nil {
			if !vouched && !(files.Owned(info) && ownedAt(at)) {
				return repository{top: folder, doubt: "its .git is another user's", doubtAt: at}
			}
			if vouched {
				info, err = os.Stat(git)
			}
			if err == nil && info.IsDir() {
				return repository{top: at, dir: git, config: filepath.Join(git, "config"), clone: at}
			}
			if r, ok := treeAt(at, git, vouched); ok {
				return r
			}
			return repository{top: at, doubt: "its .git leads elsewhere", doubtAt: at}
		}
		above := filepath.Dir(at)
		if above == at {
			break
		}
		at = above
	}
	return repository{top: folder}
}

// treeAt follows a .git file: of a further work tree, or of a submodule.
func treeAt(at, git string, vouched bool) (r repository, ok bool) {
	dir, ok := pointed(git, at, "gitdir: ")
	if !ok {
		return r, false
	}
	r = repository{top: at, dir: dir, config: filepath.Join(dir, "config"), clone: at}
	common := filepath.Dir(filepath.Dir(dir))
	if filepath.Dir(dir) == filepath.Join(common, "worktrees") && strings.HasSuffix(common, ".git") && near(at, dir) && ownedAt(common) {
		// It is this clone's if both say so.
		if back, ok := pointed(filepath.Join(dir, "gitdir"), dir, ""); ok && back == git {
			r.config, r.clone = filepath.Join(common, "config"), strings.TrimSuffix(common, string(filepath.Separator)+".git")
			return r, true
		}
	}
	if vouched {
		if common, ok := pointed(filepath.Join(dir, "commondir"), dir, ""); ok {
			r.config = filepath.Join(common, "config")
		}
		return r, true
	}
	around := find(filepath.Dir(at), false)
	return r, around.dir != "" && strings.HasPrefix(dir, filepath.Join(around.dir, "modules")+string(filepath.Separator)) && near(at, dir)
}

// near reports whether a folder, which is this user's, is reached from another one
// without a symbolic link or another file system: looking at what a folder names
// may mount it, and tell who looks.
func near(from, to string) bool {
	base, err := os.Lstat(from)
	rel, err2 := filepath.Rel(from, to)
	if err != nil || err2 != nil {
		return false
	}
	var info os.FileInfo
	at := from
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		if at = filepath.Join(at, part); part == ".." {
			continue // a folder above, through which one came
		}
		if info, err = os.Lstat(at); err != nil || !info.IsDir() || !sameDevice(base, info) {
			return false
		}
	}
	return info != nil && files.Owned(info)
}

// ownedAt reports whether what is at a path is this user's.
func ownedAt(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && files.Owned(info)
}

// elsewhere reports whether a path names a machine of the network.
func elsewhere(path string) bool {
	return len(path) > 1 && strings.ContainsRune(`/\`, rune(path[0])) && strings.ContainsRune(`/\`, rune(path[1]))
}

// pointed reads a file that holds one path of this machine, after a prefix.
func pointed(file, base, prefix string) (string, bool) {
	text, ok := read(file, maxPointer)
	if !ok {
		return "", false
	}
	path, ok := strings.CutPrefix(text, prefix)
	path = strings.TrimRight(path, "\r\n")
	if !ok || path == "" || strings.ContainsAny(path, "\x00\n\r") || elsewhere(path) {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return filepath.Clean(path), true
}

// read returns a regular file of at most that many bytes. What is no file might
// never end, and a symbolic link may lead anywhere.
func read(path string, most int64) (string, bool) {
	if path == "" {
		return "", false
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return "", false
	}
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	return string(text), err == nil && int64(len(text)) <= most
}

// originOf returns the URL of the remote "origin" in a config; "" if there is
// none.
func originOf(config string) string {
	text, _ := read(config, maxConfig)
	within := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, closed := strings.Cut(line[1:], "]")
			section, name, _ := strings.Cut(head, " ")
			within = closed && strings.EqualFold(section, "remote") && strings.TrimSpace(name) == `"origin"`
			line = strings.TrimSpace(rest) // a value may stand behind its section
		}
		key, value, ok := strings.Cut(line, "=")
		if within && ok && strings.EqualFold(strings.TrimSpace(key), "url") {
			return unquoted(value)
		}
	}
	return ""
}

// unquoted reads a value as git does, but for escapes, which no URL needs.
func unquoted(value string) string {
	var out strings.Builder
	quoted := false
	for _, r := range strings.TrimSpace(value) {
		switch {
		case r == '"':
			quoted = !quoted
		case (r == '#' || r == ';') && !quoted:
			return strings.TrimSpace(out.String())
		default:
			out.WriteRune(r)
		}
	}
	return strings.TrimSpace(out.String())
}
