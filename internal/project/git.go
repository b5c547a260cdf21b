package project

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of what is read.
const (
	maxUp      = 64        // folders above
	maxConfig  = 256 << 10 // bytes of a config; a longer one is not looked at
	maxPointer = 4 << 10   // bytes of a .git file, or of commondir
)

// repository returns the top of the work tree that a folder lies in, and its
// config; the folder itself and "" if it lies in none.
func repository(folder string) (top, config string) {
	at := folder
	for range maxUp {
		git := filepath.Join(at, ".git")
		if info, err := os.Stat(git); err == nil {
			if info.IsDir() {
				return at, filepath.Join(git, "config")
			}
			if dir, ok := pointed(git, at, "gitdir: "); ok { // of a further work tree, or a submodule
				if common, ok := pointed(filepath.Join(dir, "commondir"), dir, ""); ok {
					dir = common
				}
				return at, filepath.Join(dir, "config")
			}
		}
		above := filepath.Dir(at)
		if above == at {
			break
		}
		at = above
	}
	return folder, ""
}

// pointed reads a file that holds one path, after a prefix.
func pointed(file, base, prefix string) (string, bool) {
	text, ok := read(file, maxPointer)
	if !ok {
		return "", false
	}
	path, ok := strings.CutPrefix(text, prefix)
	path = strings.TrimRight(path, "\r\n")
	if !ok || path == "" || strings.ContainsAny(path, "\x00\n\r") {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(base, path)
	}
	return path, true
}

// read returns a regular file of at most that many bytes. What is no file might
// never end.
func read(path string, most int64) (string, bool) {
	if path == "" {
		return "", false
	}
	info, err := os.Stat(path)
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

// named makes host-owner-name of a remote's URL; "" of what is on this machine,
// or nothing of that kind. A password in it goes nowhere.
func named(url string) (name, remote string) {
	scheme, rest, ok := strings.Cut(url, "://")
	var host, path string
	if ok {
		if strings.EqualFold(scheme, "file") {
			return "", ""
		}
		host, path, ok = strings.Cut(rest, "/")
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = host[at+1:]
		}
		host = withoutPort(host)
	} else {
		// user@host:owner/name; a path has a slash before any colon, and a drive one
		// letter.
		host, path, ok = strings.Cut(url, ":")
		if strings.ContainsAny(host, `/\`) || len(host) < 2 {
			return "", ""
		}
		if at := strings.LastIndexByte(host, '@'); at >= 0 {
			host = host[at+1:]
		}
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	remote = strings.ToLower(host) + "/" + strings.ToLower(path)
	host, path = clean(host), clean(path)
	if !ok || host == "" || path == "" {
		return "", ""
	}
	return bounded(host + "-" + path), remote
}

func withoutPort(host string) string {
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		return host[:at]
	}
	return host
}
