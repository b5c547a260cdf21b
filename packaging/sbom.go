package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	if name, version, ok := strings.Cut(r.libc, " "); ok && p.name == "engramd" {
		add(component{Name: name, Version: version, PURL: "pkg:generic/" + name + "@" + version})
	}
	bom.Dependencies = []dependency{{Ref: p.name, On: refs}}
	data, err := marshal(bom)
	r.put(fmt.Sprintf("sbom/%s_%s_%s_%s.cdx.json", p.name, r.version.Semver, p.os, p.arch), data)
	return err
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
	Version    string     `json:"version"`
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
