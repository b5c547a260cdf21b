package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
)

// inOrder is what git describe says in the life of a repository.
var inOrder = []struct {
	describe string
	commits  int
	want     Version
}{
	{"dev", 0, Version{"0.0.1-dev.0.dirty", "0.0.1~dev.0.dirty", "0.0.1.dev0+dirty", false}},
	{"12345678", 41, Version{"0.0.1-dev.41.g12345678", "0.0.1~dev.41.g12345678", "0.0.1.dev41+g12345678", false}},
	{"c5e54b1", 899, Version{"0.0.1-dev.899.gc5e54b1", "0.0.1~dev.899.gc5e54b1", "0.0.1.dev899+gc5e54b1", false}},
	{"c5e54b1-dirty", 899, Version{"0.0.1-dev.899.gc5e54b1.dirty", "0.0.1~dev.899.gc5e54b1.dirty", "0.0.1.dev899+gc5e54b1.dirty", false}},
	{"v1.0.0-alpha.1", 900, Version{"1.0.0-alpha.1", "1.0.0~alpha.1", "1.0.0a1", true}},
	{"v1.0.0-beta.2", 901, Version{"1.0.0-beta.2", "1.0.0~beta.2", "1.0.0b2", true}},
	{"v1.0.0-rc.1", 905, Version{"1.0.0-rc.1", "1.0.0~rc.1", "1.0.0rc1", true}},
	{"v1.0.0-rc.1-4-gabcdef0", 909, Version{"1.0.0-rc.1.dev.4.gabcdef0", "1.0.0~rc.1.dev.4.gabcdef0", "1.0.0rc2.dev4+gabcdef0", false}},
	{"v1.0.0-rc.2", 910, Version{"1.0.0-rc.2", "1.0.0~rc.2", "1.0.0rc2", true}},
	{"v1.0.0", 911, Version{"1.0.0", "1.0.0", "1.0.0", true}},
	{"v1.0.0-dirty", 911, Version{"1.0.1-dev.0.dirty", "1.0.1~dev.0.dirty", "1.0.1.dev0+dirty", false}},
	{"v1.0.0-2-g0123abc", 913, Version{"1.0.1-dev.2.g0123abc", "1.0.1~dev.2.g0123abc", "1.0.1.dev2+g0123abc", false}},
	{"v1.0.0-14-gabcdef0", 925, Version{"1.0.1-dev.14.gabcdef0", "1.0.1~dev.14.gabcdef0", "1.0.1.dev14+gabcdef0", false}},
	{"1.0.1", 930, Version{"1.0.1", "1.0.1", "1.0.1", true}},
	{"v1.10.0", 950, Version{"1.10.0", "1.10.0", "1.10.0", true}},
}

func TestVersions(t *testing.T) {
	for _, c := range inOrder {
		got, err := parseVersion(c.describe, c.commits)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.describe, got, err, c.want)
		}
	}
	for _, bad := range []string{"", "v1", "v1.2", "v1.2.3.4", "v1.2.3-rc1", "v01.2.3", "v1.2.3-preview.1", "release", "v1.2.3+meta", "v1.2.3-rc.1-x", "../v1.2.3", "v1.2.3 "} {
		if got, err := parseVersion(bad, 1); err == nil {
			t.Errorf("%q is taken as %+v", bad, got)
		}
	}
}

// TestVersionsSort asks those who will sort them.
func TestVersionsSort(t *testing.T) {
	var before Version
	pep := []string{}
	for i, c := range inOrder {
		pep = append(pep, c.want.PEP440)
		if i > 0 {
			a, b := semver.MustParse(before.Semver), semver.MustParse(c.want.Semver)
			if !a.LessThan(b) {
				t.Errorf("npm: %s is not before %s", a, b)
			}
			if err := exec.Command("dpkg", "--compare-versions", before.Deb, "lt", c.want.Deb).Run(); err != nil {
				t.Errorf("dpkg: %s is not before %s: %v", before.Deb, c.want.Deb, err)
			}
		}
		before = c.want
	}
	// pip carries the reference implementation with it.
	script := "import sys\nfrom pip._vendor.packaging.version import Version as V\n" +
		"v=[V(a) for a in sys.argv[1:]]\nassert v==sorted(v) and len(set(v))==len(v), v\nassert [str(a) for a in v]==sys.argv[1:], 'not normal'\n"
	venv := filepath.Join(t.TempDir(), "venv")
	for _, args := range [][]string{{"python3", "-m", "venv", venv}, append([]string{venv + "/bin/python", "-c", script}, pep...)} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args[0], err, out)
		}
	}
}

// TestServerName: the registry finds the same name in README.md and in each
// package that it lists.
func TestServerName(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	line := "<!-- mcp-name: " + serverName + " -->"
	for name, text := range map[string]string{"README.md": string(readme), "engramctl.md": string(asset("engramctl.md"))} {
		if !strings.Contains(text, line) {
			t.Errorf("%s has no line %s", name, line)
		}
	}
}
