package main

import (
	"fmt"
)

// npm's words for our platforms.
var (
	npmOS   = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	npmArch = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

func npmName(p program) string {
	return fmt.Sprintf("engramctl-%s-%s", npmOS[p.os], npmArch[p.arch])
}

type npmPackage struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	MCPName      string            `json:"mcpName,omitempty"`
	Keywords     []string          `json:"keywords,omitempty"`
	License      string            `json:"license"`
	Author       string            `json:"author"`
	Bin          map[string]string `json:"bin,omitempty"`
	Files        []string          `json:"files"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
}

// npmMain is the package that people name: a few lines of JavaScript that run
// the program out of the package for their platform. Nothing is downloaded and
// nothing runs when it is installed.
func (r *release) npmMain() error {
	optional := map[string]string{}
	for _, p := range r.programs {
		if p.name == "engramctl" {
			optional[npmName(p)] = r.version.Semver
		}
	}
	return r.npmFile(npmPackage{
		Name: "engramctl", Version: r.version.Semver, Description: summary, MCPName: serverName, Keywords: keywords,
		License: licenceID, Author: author,
		Bin: map[string]string{"engramctl": "bin/engramctl.js"}, Files: []string{"bin"},
		Engines: map[string]string{"node": ">=18"}, Optional: optional,
	}, []file{
		{"bin/engramctl.js", 0o755, asset("engramctl.js")},
		{"README.md", 0o644, asset("engramctl.md")},
		{"LICENSE", 0o644, r.license},
	})
}

func (r *release) npm(p program) error {
	licences, err := r.licences(p)
	if err != nil {
		return err
	}
	name := npmName(p)
	return r.npmFile(npmPackage{
		Name: name, Version: r.version.Semver, Description: "engramctl for " + p.os + "/" + p.arch,
		License: licenceID, Author: author, Files: []string{"bin", "THIRD-PARTY-LICENSES.txt"},
		OS: []string{npmOS[p.os]}, CPU: []string{npmArch[p.arch]}, PreferUnplug: true,
	}, []file{
		{"bin/" + p.exe(), 0o755, p.data},
		{"README.md", 0o644, []byte("The program of the package `engramctl` for one platform. Install `engramctl`.\n")},
		{"LICENSE", 0o644, r.license},
		{"THIRD-PARTY-LICENSES.txt", 0o644, licences},
	})
}

func (r *release) npmFile(manifest npmPackage, files []file) error {
	text, err := marshal(manifest)
	if err != nil {
		return err
	}
	files = append(files, file{"package.json", 0o644, text})
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	data, err := tarball(files, r.time)
	r.put(fmt.Sprintf("npm/%s-%s.tgz", manifest.Name, manifest.Version), data)
	return err
}
