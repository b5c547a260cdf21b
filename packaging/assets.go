package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

// What packages say about themselves. The server's name is that of README.md's
// mcp-name line, by which the registry knows that both have one author.
const (
	author     = "engramd"
	licenceID  = "MIT"
	serverName = "io.github.engramd/engramctl"
	summary    = "Durable, private, verifiable memory for AI agents"
)

var keywords = []string{"memory", "mcp", "agent", "nostr", "encryption"}

//go:embed all:assets
var assets embed.FS

// asset is an embedded file; a name that is not there is a mistake in this
// program.
func asset(name string) []byte {
	data, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	return data
}

// tree is the embedded files below a folder.
func tree(folder string) ([]file, error) {
	var all []file
	err := fs.WalkDir(assets, "assets/"+folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, "assets/"+folder+"/")
		all = append(all, file{name, 0o644, asset(folder + "/" + name)})
		return nil
	})
	return all, err
}

// plugin is the marketplace with the one plugin that Claude Code, Codex and
// Cursor load: each finds its own manifest, and all share .mcp.json and skills.
func (r *release) plugin() error {
	files, err := tree("plugin")
	if err != nil {
		return err
	}
	for i := range files {
		files[i].data = bytes.ReplaceAll(files[i].data, []byte("0.0.0-version"), []byte(r.version.Semver))
	}
	files = append(files, file{"engram/LICENSE", 0o644, r.license})
	for _, f := range files {
		r.put("plugin/"+f.name, f.data)
	}
	folder := fmt.Sprintf("engram-plugin_%s", r.version.Semver)
	for i := range files {
		files[i].name = folder + "/" + files[i].name
	}
	data, err := tarball(files, r.time)
	r.put(folder+".tar.gz", data)
	return err
}

// bundleName is the file of one platform: a bundle says for which system it is,
// but not for which processor, so each has its own.
func (r *release) bundleName(p program) string {
	return fmt.Sprintf("mcpb/engramctl_%s_%s_%s.mcpb", r.version.Semver, p.os, p.arch)
}

// bundle is an MCP bundle (manifest 0.3): the program, and the three things
// that it asks its user for.
func (r *release) bundle(p program) error {
	licences, err := r.licences(p)
	if err != nil {
		return err
	}
	manifest, err := marshal(bundleManifest(p, r.version.Semver))
	if err != nil {
		return err
	}
	data, err := zipped([]file{
		{"manifest.json", 0o644, manifest},
		{"server/" + p.exe(), 0o755, p.data},
		{"README.md", 0o644, asset("engramctl.md")},
		{"LICENSE", 0o644, r.license},
		{"THIRD-PARTY-LICENSES.txt", 0o644, licences},
	}, r.time)
	r.put(r.bundleName(p), data)
	return err
}

func bundleManifest(p program, version string) any {
	type option map[string]any
	return struct {
		ManifestVersion string            `json:"manifest_version"`
		Name            string            `json:"name"`
		DisplayName     string            `json:"display_name"`
		Version         string            `json:"version"`
		Description     string            `json:"description"`
		Author          map[string]string `json:"author"`
		License         string            `json:"license"`
		Keywords        []string          `json:"keywords"`
		Server          any               `json:"server"`
		ToolsGenerated  bool              `json:"tools_generated"`
		UserConfig      map[string]option `json:"user_config"`
		Compatibility   any               `json:"compatibility"`
	}{
		"0.3", "engramctl", "engram", version, summary, map[string]string{"name": author}, licenceID, keywords,
		map[string]any{
			"type":        "binary",
			"entry_point": "server/" + p.exe(),
			"mcp_config": map[string]any{
				"command": "${__dirname}/server/" + p.exe(),
				"args":    []string{"mcp", "--tools", "memory,mind"},
				"env": map[string]string{
					"ENGRAM_RELAYS":   "${user_config.relays}",
					"ENGRAM_OWNER":    "${user_config.owner}",
					"ENGRAM_KEY_FILE": "${user_config.key_file}",
				},
			},
		},
		true,
		map[string]option{
			"relays":   {"type": "string", "title": "Relays", "description": "Where the memory is kept: wss:// URLs with commas between them.", "required": true},
			"owner":    {"type": "string", "title": "Owner", "description": "Your public key (npub1…): memories are encrypted to it.", "required": true},
			"key_file": {"type": "file", "title": "Key file", "description": "The agent's secret key, as engramctl key new makes it.", "required": true},
		},
		map[string]any{"platforms": []string{npmOS[p.os]}},
	}
}
