package main

import "fmt"

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
