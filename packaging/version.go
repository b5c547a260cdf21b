package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Version is one version in the words of each kind of package. They sort as the
// commits do: a tag, then what was built after it, then the next tag.
type Version struct {
	Semver string // archives, npm, bundles, plugins, the registry
	Deb    string // Debian: "~" sorts before the end
	PEP440 string // wheels
	Tagged bool   // a tag and nothing else: may be published
}

var (
	described  = regexp.MustCompile(`^(?:(v?[0-9].*?)(?:-([0-9]+)-g([0-9a-f]{4,40}))?|([0-9a-f]{4,40}))$`)
	taggedText = regexp.MustCompile(`^v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(?:-(alpha|beta|rc)\.(0|[1-9][0-9]*))?$`)
)

// parseVersion takes what `git describe --tags --always --dirty` says, and the
// number of commits, by which versions without any tag are ordered.
func parseVersion(describe string, commits int) (Version, error) {
	text, dirty := strings.CutSuffix(describe, "-dirty")
	if text == "dev" {
		return untagged("", commits, dirty), nil
	}
	// A hash may be digits alone: a version has dots.
	if regexp.MustCompile(`^[0-9a-f]{4,40}$`).MatchString(text) {
		return untagged(text, commits, dirty), nil
	}
	m := described.FindStringSubmatch(text)
	if m == nil {
		return Version{}, fmt.Errorf("version %q is neither a tag nor what git describe says", describe)
	}
	tag := taggedText.FindStringSubmatch(m[1])
	if tag == nil {
		return Version{}, fmt.Errorf("tag %q: write v1.2.3, or v1.2.3-rc.1 (alpha, beta, rc)", m[1])
	}
	number := strings.Join(tag[1:4], ".")
	if m[3] == "" && !dirty {
		return exactly(number, tag[4], tag[5]), nil
	}
	after, _ := strconv.Atoi(m[2])
	return following(tag, after, m[3], dirty), nil
}

// pep440 are the words for what comes before a release.
var pep440 = map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}

func exactly(number, stage, count string) Version {
	if stage == "" {
		return Version{number, number, number, true}
	}
	return Version{
		Semver: number + "-" + stage + "." + count,
		Deb:    number + "~" + stage + "." + count,
		PEP440: number + pep440[stage] + count,
		Tagged: true,
	}
}

// following is a version after a tag: before the next patch, or between two
// candidates.
func following(tag []string, commits int, hash string, dirty bool) Version {
	number, stage, count := strings.Join(tag[1:4], "."), tag[4], tag[5]
	dev := fmt.Sprintf("dev.%d%s", commits, suffix(".g", hash, dirty))
	local := strings.ReplaceAll(strings.TrimPrefix(suffix(".g", hash, dirty), "."), "-", ".")
	if stage == "" {
		patch, _ := strconv.Atoi(tag[3])
		next := fmt.Sprintf("%s.%s.%d", tag[1], tag[2], patch+1)
		return Version{next + "-" + dev, next + "~" + dev, fmt.Sprintf("%s.dev%d+%s", next, commits, local), false}
	}
	n, _ := strconv.Atoi(count)
	return Version{
		Semver: number + "-" + stage + "." + count + "." + dev,
		Deb:    number + "~" + stage + "." + count + "." + dev,
		PEP440: fmt.Sprintf("%s%s%d.dev%d+%s", number, pep440[stage], n+1, commits, local),
	}
}

// untagged is a version of a repository without a tag: before 0.0.1.
func untagged(hash string, commits int, dirty bool) Version {
	return following([]string{"", "0", "0", "0", "", ""}, commits, hash, dirty)
}

// suffix names the commit, and that it is not all that was built.
func suffix(before, hash string, dirty bool) string {
	text := ""
	if hash != "" {
		text = before + hash
	}
	if dirty || hash == "" {
		text += ".dirty"
	}
	return text
}
