package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const registrySchema = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

type registryEntry struct {
	Schema      string            `json:"$schema"`
	Name        string            `json:"name"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Version     string            `json:"version"`
	Packages    []registryPackage `json:"packages"`
}

type registryPackage struct {
	Type       string             `json:"registryType"`
	BaseURL    string             `json:"registryBaseUrl,omitempty"`
	Identifier string             `json:"identifier"`
	Version    string             `json:"version,omitempty"`
	SHA256     string             `json:"fileSha256,omitempty"`
	Hint       string             `json:"runtimeHint,omitempty"`
	Transport  map[string]string  `json:"transport"`
	Arguments  []registryArgument `json:"packageArguments,omitempty"`
	Variables  []registryVariable `json:"environmentVariables,omitempty"`
}

type registryArgument struct {
	Type  string `json:"type"`
	Name  string `json:"name,omitempty"`
	Value string `json:"value"`
}

type registryVariable struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"isRequired,omitempty"`
	Format      string `json:"format,omitempty"`
}

// registry writes server.json, the entry of the MCP registry. Bundles are named
// by where they are published, so that they are in it only if that is known.
func (r *release) registry() error {
	stdio := map[string]string{"type": "stdio"}
	arguments := []registryArgument{
		{Type: "positional", Value: "mcp"},
		{Type: "named", Name: "--tools", Value: "memory,mind"},
	}
	variables := []registryVariable{
		{Name: "ENGRAM_RELAYS", Description: "Where the memory is kept: wss:// URLs with commas between them. A profile may say it."},
		{Name: "ENGRAM_OWNER", Description: "The owner's public key (npub1…). A profile may say it."},
		{Name: "ENGRAM_KEY_FILE", Description: "The file with the agent's secret key. A profile may say it.", Format: "filepath"},
	}
	entry := registryEntry{
		Schema: registrySchema, Name: serverName, Title: "engram", Description: summary, Version: r.version.Semver,
		Packages: []registryPackage{
			{Type: "npm", BaseURL: "https://registry.npmjs.org", Identifier: "engramctl", Version: r.version.Semver, Hint: "npx", Transport: stdio, Arguments: arguments, Variables: variables},
			{Type: "pypi", BaseURL: "https://pypi.org", Identifier: "engramctl", Version: r.version.PEP440, Hint: "uvx", Transport: stdio, Arguments: arguments, Variables: variables},
		},
	}
	for _, p := range r.programs {
		if r.url == "" || p.name != "engramctl" {
			continue
		}
		sum := sha256.Sum256(r.files[r.bundleName(p)])
		_, name, _ := strings.Cut(r.bundleName(p), "/")
		entry.Packages = append(entry.Packages, registryPackage{
			Type: "mcpb", Identifier: strings.TrimSuffix(r.url, "/") + "/" + name, SHA256: hex.EncodeToString(sum[:]), Transport: stdio,
		})
	}
	data, err := marshal(entry)
	r.put("server.json", data)
	return err
}
