package main

import (
	"bytes"
	"fmt"
)

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
