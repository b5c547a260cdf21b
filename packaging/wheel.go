package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// wheelTags says on what a wheel may be installed. The program is static, so
// that any Linux will do; macOS 12 is the oldest that Go supports. Several tags
// are sorted, as the name of the file wants them.
var wheelTags = map[string][]string{
	"linux/amd64":   {"manylinux2014_x86_64", "manylinux_2_17_x86_64", "musllinux_1_1_x86_64"},
	"linux/arm64":   {"manylinux2014_aarch64", "manylinux_2_17_aarch64", "musllinux_1_1_aarch64"},
	"darwin/amd64":  {"macosx_12_0_x86_64"},
	"darwin/arm64":  {"macosx_12_0_arm64"},
	"windows/amd64": {"win_amd64"},
	"windows/arm64": {"win_arm64"},
}

func (r *release) wheels() error {
	for _, p := range r.programs {
		if p.name != "engramctl" {
			continue
		}
		if err := r.wheel(p); err != nil {
			return err
		}
	}
	return nil
}

// wheel has the program as a script, which pip and uv put among the commands of
// the environment with the right to run.
func (r *release) wheel(p program) error {
	licences, err := r.licences(p)
	if err != nil {
		return err
	}
	tags := wheelTags[p.os+"/"+p.arch]
	name := "engramctl-" + r.version.PEP440
	var wheel, metadata bytes.Buffer
	fmt.Fprintf(&wheel, "Wheel-Version: 1.0\nGenerator: engramd\nRoot-Is-Purelib: false\n")
	for _, tag := range tags {
		fmt.Fprintf(&wheel, "Tag: py3-none-%s\n", tag)
	}
	fmt.Fprintf(&metadata, "Metadata-Version: 2.4\nName: engramctl\nVersion: %s\nSummary: %s\nKeywords: %s\nAuthor: %s\nLicense-Expression: %s\nLicense-File: LICENSE\nLicense-File: THIRD-PARTY-LICENSES.txt\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n%s",
		r.version.PEP440, summary, strings.Join(keywords, ","), author, licenceID, asset("engramctl.md"))
	files := []file{
		{name + ".data/scripts/" + p.exe(), 0o755, p.data},
		{name + ".dist-info/METADATA", 0o644, metadata.Bytes()},
		{name + ".dist-info/WHEEL", 0o644, wheel.Bytes()},
		{name + ".dist-info/licenses/LICENSE", 0o644, r.license},
		{name + ".dist-info/licenses/THIRD-PARTY-LICENSES.txt", 0o644, licences},
	}
	// The record comes last, and has no line for its own hash.
	var record bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%s.dist-info/RECORD,,\n", name)
	files = append(files, file{name + ".dist-info/RECORD", 0o644, record.Bytes()})
	data, err := zipped(files, r.time)
	r.put(fmt.Sprintf("pypi/%s-py3-none-%s.whl", name, strings.Join(tags, ".")), data)
	return err
}
