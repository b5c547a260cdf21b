package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	scripts := r.scripts()
	if len(scripts) == 0 {
		return errors.New("licences.txt of the owner's page names no package")
	}
	for _, c := range scripts {
		add(c)
	}
	native, err := r.native(p)
	if err != nil {
		return err
	}
	for _, c := range native {
		add(c)
	}
	bom.Dependencies = []dependency{{Ref: p.name, On: refs}}
	data, err := marshal(bom)
	r.put(fmt.Sprintf("sbom/%s_%s_%s_%s.cdx.json", p.name, r.version.Semver, p.os, p.arch), data)
	return err
}

var (
	sqliteVersion = regexp.MustCompile(`(?m)^#define SQLITE_VERSION\s+"([0-9.]+)"`)
	// The version of go-sqlite3-wasm ends in SQLite's: 35304 is 3.53.4.
	wasmVersion = regexp.MustCompile(`\.(\d)(\d\d)(\d\d)$`)
)

// script is a package of JavaScript as the licences of the owner's page name it.
var script = regexp.MustCompile(`(?m)^== ((?:@[a-z0-9-]+/)?[a-z0-9.-]+) ([0-9][0-9A-Za-z.-]*) \(`)

// scripts are the packages inside the owner's page, which every program has.
func (r *release) scripts() (found []component) {
	for _, m := range script.FindAllSubmatch(r.page, -1) {
		name, version := string(m[1]), string(m[2])
		found = append(found, component{
			Name: name, Version: version, PURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + version,
			Properties: []property{{"engramd:inside", "the owner's page"}},
		})
	}
	return found
}

// native are the libraries in C, which the program does not name: those inside
// modules, compiled or translated to Go, and the system's that built engramd.
func (r *release) native(p program) ([]component, error) {
	var found []component
	var names []string
	add := func(name, version string, in ...property) {
		c := component{Name: name, Version: version, PURL: "pkg:generic/" + name, Properties: in}
		if version != "" {
			c.PURL += "@" + version
		}
		found, names = append(found, c), append(names, name)
	}
	for _, m := range modules(p.info) {
		from := property{"engramd:inside", m.Path + "@" + m.Version}
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
			add("sqlite", string(version[1]), from)
		case "github.com/ncruces/go-sqlite3-wasm/v6":
			version, err := sqliteOfWasm(m.Version)
			if err != nil {
				return nil, err
			}
			add("sqlite", version, from)
		case "github.com/nbd-wtf/go-nostr":
			if p.name == "engramd" { // engramctl is built without it
				add("libsecp256k1", "", from)
			}
		}
	}
	want := []string{"sqlite"}
	if p.name == "engramd" {
		name, version, _ := strings.Cut(r.libc, " ")
		add(name, version)
		want = []string{"glibc", "libsecp256k1", "sqlite"}
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		return nil, fmt.Errorf("the libraries in C of %s are %q: want %q", p.name, names, want)
	}
	return found, nil
}

func sqliteOfWasm(version string) (string, error) {
	m := wasmVersion.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("go-sqlite3-wasm %s does not say which SQLite it has", version)
	}
	minor, _ := strconv.Atoi(m[2])
	patch, _ := strconv.Atoi(m[3])
	return fmt.Sprintf("%s.%d.%d", m[1], minor, patch), nil
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
