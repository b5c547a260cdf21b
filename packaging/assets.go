package main

import (
	"embed"
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
