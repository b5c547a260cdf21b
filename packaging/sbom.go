package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// sbom writes what p is made of as CycloneDX 1.6, from the program itself.
func (r *release) sbom(p program) error {
	sum := sha256.Sum256(p.data)
	main := component{
		Type: "application", Ref: p.name, Name: p.name, Version: r.version.Semver,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(sum[:])}},
		Properties: []property{
			{"engramd:platform", p.os + "/" + p.arch},
		},
	}
	bom := bom{Format: "CycloneDX", Spec: "1.6", Version: 1}
	bom.Metadata.Timestamp = r.time.Format(time.RFC3339)
	bom.Metadata.Component = main
	refs := []string{}
	add := func(c component) {
		c.Type, c.Ref = "library", c.PURL
		bom.Components = append(bom.Components, c)
		refs = append(refs, c.Ref)
	}
	add(component{Name: "stdlib", Version: p.info.GoVersion, PURL: "pkg:golang/stdlib@" + strings.TrimPrefix(p.info.GoVersion, "go")})
	for _, m := range modules(p.info) {
		add(component{
			Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version,
			Properties: []property{{"go.sum", m.Sum}},
		})
	}
	if p.name == "engramd" {
		native, err := r.native(p)
		if err != nil {
			return err
		}
		for _, c := range native {
			add(c)
		}
	}
	bom.Dependencies = []dependency{{Ref: p.name, On: refs}}
	data, err := marshal(bom)
	r.put(fmt.Sprintf("sbom/%s_%s_%s_%s.cdx.json", p.name, r.version.Semver, p.os, p.arch), data)
	return err
}

var sqliteVersion = regexp.MustCompile(`(?m)^#define SQLITE_VERSION\s+"([0-9.]+)"`)

// native are the libraries in C, which the program does not name: two come
// inside modules, and one is the system's that built it.
func (r *release) native(p program) ([]component, error) {
	var found []component
	for _, m := range modules(p.info) {
		from := []property{{"engramd:inside", m.Path + "@" + m.Version}}
		switch m.Path {
		case "github.com/mattn/go-sqlite3":
			text, err := os.ReadFile(filepath.Join(r.modules, escapePath(m.Path)+"@"+m.Version, "sqlite3-binding.h"))
			if err != nil {
				return nil, err
			}
			version := sqliteVersion.FindSubmatch(text)
			if version == nil {
				return nil, fmt.Errorf("%s does not say which SQLite it has", m.Path)
			}
			found = append(found, component{Name: "sqlite", Version: string(version[1]), PURL: "pkg:generic/sqlite@" + string(version[1]), Properties: from})
		case "github.com/nbd-wtf/go-nostr":
			found = append(found, component{Name: "libsecp256k1", PURL: "pkg:generic/libsecp256k1", Properties: from})
		}
	}
	name, version, ok := strings.Cut(r.libc, " ")
	if !ok || len(found) != 2 {
		return nil, fmt.Errorf("the libraries in C are %v and %q: want SQLite, libsecp256k1 and the C library", found, r.libc)
	}
	return append(found, component{Name: name, Version: version, PURL: "pkg:generic/" + name + "@" + version}), nil
}

type bom struct {
	Format   string `json:"bomFormat"`
	Spec     string `json:"specVersion"`
	Version  int    `json:"version"`
	Metadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	} `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref string   `json:"ref"`
	On  []string `json:"dependsOn"`
}

// marshal is JSON as people read it, with < and > as they are.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return out.Bytes(), err
}
