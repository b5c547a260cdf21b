package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// program is one binary, with what it says about how it was made.
type program struct {
	name, os, arch string
	data           []byte
	info           *buildinfo.BuildInfo
}

var programName = regexp.MustCompile(`^(engramctl|engramd)-(linux|darwin|windows)-(amd64|arm64)(?:\.exe)?$`)

// clientPlatforms is where engramctl is built for: a release lacks none.
const clientPlatforms = 6

// readPrograms reads what a folder has: engramctl for so many platforms, and engramd.
func readPrograms(folder string, platforms int) ([]program, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var programs []program
	clients, daemons := 0, 0
	for _, e := range entries {
		m := programName.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		p := program{name: m[1], os: m[2], arch: m[3]}
		if p.data, err = os.ReadFile(filepath.Join(folder, e.Name())); err != nil {
			return nil, err
		}
		if p.info, err = buildinfo.Read(bytes.NewReader(p.data)); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		if p.name == "engramctl" {
			clients++
		} else {
			daemons++
		}
		programs = append(programs, p)
	}
	if clients != platforms || daemons == 0 {
		return nil, fmt.Errorf("%s has %d engramctl and %d engramd: want %d and at least one", folder, clients, daemons, platforms)
	}
	return programs, nil
}

// check holds the program against its name and the rules of a release.
func (p program) check() error {
	want := map[string]string{"GOOS": p.os, "GOARCH": p.arch, "-trimpath": "true", "CGO_ENABLED": "0"}
	if p.name == "engramd" {
		want["CGO_ENABLED"] = "1"
	}
	for _, s := range p.info.Settings {
		if v, ok := want[s.Key]; ok && v != s.Value {
			return fmt.Errorf("built with %s=%s, not %s", s.Key, s.Value, v)
		}
		delete(want, s.Key)
		if strings.HasPrefix(s.Key, "vcs") {
			return fmt.Errorf("built with %s: a copy of the source without git would differ", s.Key)
		}
	}
	for key := range want {
		return fmt.Errorf("does not say %s", key)
	}
	return nil
}

// exe is the program's name as a file of its platform.
func (p program) exe() string {
	if p.os == "windows" {
		return p.name + ".exe"
	}
	return p.name
}

// archive is the .tar.gz, or .zip on Windows: one folder with the program, what
// it is, and the licences.
func (r *release) archive(p program) error {
	licences, err := r.licences(p)
	if err != nil {
		return err
	}
	folder := fmt.Sprintf("%s_%s_%s_%s", p.name, r.version.Semver, p.os, p.arch)
	files := []file{
		{folder + "/" + p.exe(), 0o755, p.data},
		{folder + "/README.md", 0o644, asset(p.name + ".md")},
		{folder + "/LICENSE", 0o644, r.license},
		{folder + "/THIRD-PARTY-LICENSES.txt", 0o644, licences},
	}
	if p.name == "engramd" {
		files = append(files,
			file{folder + "/engramd.service", 0o644, r.unit},
			file{folder + "/engramd.example.toml", 0o644, r.config})
	}
	if p.os == "windows" {
		data, err := zipped(sorted(files), r.time)
		r.put(folder+".zip", data)
		return err
	}
	data, err := tarball(files, r.time)
	r.put(folder+".tar.gz", data)
	return err
}
