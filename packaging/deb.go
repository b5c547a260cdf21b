package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// The unit of the repository is for a program in /usr/local, with what to do by
// hand above it; a package has its own place and does these things.
var (
	unitByHand = regexp.MustCompile(`(?s)\A(#[^\n]*\n)+`)
	unitLocal  = []byte("/usr/local/bin/engramd")
)

// deb makes one Debian package.
func (r *release) deb(p program) error {
	licences, err := r.licences(p)
	if err != nil {
		return err
	}
	doc := "/usr/share/doc/" + p.name + "/"
	content := []file{
		{"/usr/bin/" + p.name, 0o755, p.data},
		{doc + "copyright", 0o644, r.license},
		{doc + "README.md", 0o644, asset(p.name + ".md")},
		{doc + "THIRD-PARTY-LICENSES.txt", 0o644, licences},
	}
	info := &nfpm.Info{
		Name: p.name, Arch: p.arch, Platform: "linux",
		Version: r.version.Deb, VersionSchema: "none",
		Section: "net", Priority: "optional", Maintainer: author, License: licenceID, MTime: r.time,
		DisableGlobbing: true,
	}
	conffiles := map[string]bool{}
	if p.name == "engramd" {
		info.Description = "Nostr relay for the memory of AI agents\nIt keeps agents' encrypted memories in one SQLite file and shows them to\nnobody but the agent and its owner."
		info.Suggests = []string{"engramctl"}
		unit := bytes.ReplaceAll(unitByHand.ReplaceAll(r.unit, nil), unitLocal, []byte("/usr/bin/engramd"))
		content = append(content,
			file{"/usr/lib/systemd/system/engramd.service", 0o644, unit},
			file{"/etc/engramd/engramd.toml", 0o644, r.config})
		conffiles["/etc/engramd/engramd.toml"] = true
	} else {
		info.Description = "memory for AI agents: commands, MCP server and hooks\nClient of engramd, the Nostr relay for the memory of AI agents."
		info.Suggests = []string{"engramd"}
	}

	folder, err := os.MkdirTemp("", "packaging-deb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for i, f := range content {
		source := filepath.Join(folder, fmt.Sprint(i))
		if err := writeFile(source, f.data, f.mode); err != nil {
			return err
		}
		kind := files.TypeFile
		if conffiles[f.name] {
			kind = files.TypeConfig
		}
		info.Contents = append(info.Contents, r.entry(source, f.name, kind, f.mode))
	}
	if p.name == "engramd" {
		info.Contents = append(info.Contents, r.entry("", "/etc/engramd", files.TypeDir, 0o755))
		for script, into := range map[string]*string{
			"postinst": &info.Scripts.PostInstall, "prerm": &info.Scripts.PreRemove, "postrm": &info.Scripts.PostRemove,
		} {
			*into = filepath.Join(folder, script)
			if err := writeFile(*into, asset("deb/"+script), 0o755); err != nil {
				return err
			}
		}
	}
	var out bytes.Buffer
	if err := deb.Default.Package(nfpm.WithDefaults(info), &out); err != nil {
		return fmt.Errorf("deb of %s: %w", p.name, err)
	}
	r.put(fmt.Sprintf("%s_%s_%s.deb", p.name, r.version.Deb, p.arch), out.Bytes())
	return nil
}

func (r *release) entry(source, name, kind string, mode fs.FileMode) *files.Content {
	return &files.Content{
		Source: source, Destination: name, Type: kind,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time},
	}
}
