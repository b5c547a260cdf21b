package project

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Prefix begins the slugs of all projects.
const Prefix = "mem/projects/"

const (
	maxURL   = 4 << 10 // bytes; a longer one is no remote
	maxLevel = 40      // bytes of a level, without what is put behind it
	maxOld   = 64      // bytes of an old name; a longer one is cut to kept and a hash
	kept     = 55
	hashed   = 8 // hex digits
)

// caseless are hosts that ignore the case of a path.
var caseless = []string{"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"}

// Own reports whether a slug is the memory of one of some projects. Below an old
// name no project of now is: that may be another's.
func Own(slug string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		rest, ok := strings.CutPrefix(slug, Prefix+name)
		if !ok || name == "" || rest != "" && rest[0] != '/' {
			return false
		}
		if strings.Contains(name, "/") || marked(name) {
			return true
		}
		levels := strings.SplitN(rest, "/", 4) // the first is empty
		return len(levels) < 3 || !marked(levels[2])
	})
}

// In returns the name of the project of which a slug is, as far as a slug shows it:
// three levels that end in a hash, else one; "" of no project.
func In(slug string) string {
	rest, ok := strings.CutPrefix(slug, Prefix)
	if !ok {
		return ""
	}
	levels := strings.SplitN(rest, "/", 4)
	if len(levels) > 2 && marked(levels[2]) && !marked(levels[0]) {
		return strings.Join(levels[:3], "/")
	}
	return levels[0]
}

// split takes host and path out of a remote's URL; both are "" of what is on this
// machine, or nothing of that kind. A password in it goes nowhere.
func split(url string) (host, path string) {
	scheme, rest, ok := strings.Cut(url, "://")
	if ok {
		if strings.EqualFold(scheme, "file") {
			return "", ""
		}
		host, path, ok = strings.Cut(rest, "/")
		host = withoutPort(host[strings.LastIndexByte(host, '@')+1:])
	} else {
		// user@host:owner/name; a path has a slash before any colon, and a drive one
		// letter.
		host, path, ok = strings.Cut(url, ":")
		if strings.ContainsAny(host, `/\`) || len(host) < 2 {
			return "", ""
		}
		host = host[strings.LastIndexByte(host, '@')+1:]
	}
	path = strings.Trim(strings.TrimSuffix(strings.Trim(path, "/"), ".git"), "/")
	if !ok || clean(host) == "" || path == "" || len(url) > maxURL {
		return "", ""
	}
	return host, path
}

func withoutPort(host string) string {
	if at := strings.LastIndexByte(host, ':'); at >= 0 && !strings.HasSuffix(host, "]") {
		return host[:at]
	}
	return host
}

// remoteOf makes host/path of a remote's URL; "" of none. Case goes where it says
// nothing.
func remoteOf(url string) string {
	host, path := split(url)
	if host == "" {
		return ""
	}
	if host = strings.ToLower(host); slices.Contains(caseless, host) {
		path = strings.ToLower(path)
	}
	return host + "/" + path
}

// named makes a name of a remote, host, owner and name, and its last level. A hash of
// the remote follows: without one, a name of a host without a dot could be taken for
// what an agent chose to call a project.
func named(remote string) (name, last string) {
	host, path, _ := strings.Cut(remote, "/")
	levels := strings.Split(path, "/")
	n := len(levels)
	host, last = level(host), level(levels[n-1])
	if marked(host) { // as a folder without a remote is
		host += "-host"
	}
	name = host + "/" + level(strings.Join(levels[:n-1], "-")) + "/" + last
	return strings.TrimRight(name, "-_") + "-" + digest(remote), last
}

// level makes one level of a slug, of at most maxLevel bytes.
func level(s string) string {
	out := strings.TrimLeft(dashed(s, "_"), "-_")
	if out = out[:min(len(out), maxLevel)]; out != s {
		out = strings.TrimRight(out, "-_")
	}
	if out == "" {
		return "x"
	}
	return out
}

// marked reports whether a level ends as one with a hash does.
func marked(level string) bool {
	at := len(level) - hashed - 1
	return at > 0 && level[at] == '-' && strings.Trim(level[at+1:], "0123456789abcdef") == ""
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:hashed]
}

// oldNamed makes host-owner-name of a remote's URL, as versions did of which the
// memory may still be there; "" of none.
func oldNamed(url string) string {
	host, path := split(url)
	host, path = clean(host), clean(path)
	if path == "" {
		return ""
	}
	name := host + "-" + path
	if len(name) <= maxOld {
		return name
	}
	return strings.TrimRight(name[:kept], "-") + "-" + digest(name)
}

// clean makes lower-case letters, digits and dashes of a text.
func clean(s string) string { return strings.Trim(dashed(s, ""), "-") }

// dashed puts a dash for all but ASCII letters, which become lower case, digits and
// what else may stay.
func dashed(s, also string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', strings.ContainsRune(also, r):
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, s)
}
