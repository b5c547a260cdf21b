package installed

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The rules here are the documented ones of each format, in our words: which
// members there must be, which there may be where a format takes no others, and
// what their values look like. docs/releasing.md names the formats' own tools.
var (
	semverText = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)
	kebab      = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
)

type object = map[string]any

func manifest(t *testing.T, path string) object {
	t.Helper()
	var o object
	readJSON(t, filepath.Join(dist, path), &o)
	return o
}

// members fails unless o has what it must have, and nothing else but what it
// may have; may "*" allows everything.
func members(t *testing.T, what string, o object, must, may string) {
	t.Helper()
	for _, name := range strings.Fields(must) {
		if v, ok := o[name]; !ok || v == "" || v == nil {
			t.Errorf("%s lacks %s", what, name)
		}
	}
	allowed := strings.Fields(must + " " + may)
	for name := range o {
		if may != "*" && !slices.Contains(allowed, name) {
			t.Errorf("%s has %s, which the format does not know", what, name)
		}
	}
}

func inside(t *testing.T, o object, name string) object {
	t.Helper()
	v, ok := o[name].(object)
	if !ok {
		t.Fatalf("%s is %v, want an object", name, o[name])
	}
	return v
}

func matches(t *testing.T, what string, v any, form *regexp.Regexp) {
	t.Helper()
	if s, ok := v.(string); !ok || !form.MatchString(s) {
		t.Errorf("%s is %v, want %s", what, v, form)
	}
}

// TestBundleManifests: MCPB manifest 0.3.
func TestBundleManifests(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(dist, "mcpb/*.mcpb"))
	if err != nil || len(found) != 6 {
		t.Fatalf("%v, %v: want a bundle for each platform", found, err)
	}
	for _, path := range found {
		text := run(t, nil, "", "python3", "-c", "import sys,zipfile;sys.stdout.write(zipfile.ZipFile(sys.argv[1]).read('manifest.json').decode())", path)
		var m object
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		members(t, path, m, "manifest_version name version description author server",
			"display_name long_description repository homepage documentation support icon icons screenshots localization tools tools_generated prompts prompts_generated keywords license privacy_policies compatibility user_config _meta")
		if m["manifest_version"] != "0.3" {
			t.Errorf("%s: manifest_version %v", path, m["manifest_version"])
		}
		matches(t, "version", m["version"], semverText)
		members(t, "author", inside(t, m, "author"), "name", "email url")
		server := inside(t, m, "server")
		members(t, "server", server, "type entry_point mcp_config", "")
		members(t, "mcp_config", inside(t, server, "mcp_config"), "command args env", "platform_overrides")
		for name, option := range inside(t, m, "user_config") {
			o := option.(object)
			members(t, name, o, "type title description", "required default multiple sensitive min max")
			if !slices.Contains([]string{"string", "number", "boolean", "directory", "file"}, o["type"].(string)) {
				t.Errorf("%s has type %v", name, o["type"])
			}
		}
		compatibility := inside(t, m, "compatibility")
		members(t, "compatibility", compatibility, "platforms", "claude_desktop runtimes")
		word := map[bool]string{true: "linux"}[strings.Contains(path, "_linux_")]
		if strings.Contains(path, "_darwin_") {
			word = "darwin"
		} else if strings.Contains(path, "_windows_") {
			word = "win32"
		}
		if platforms := compatibility["platforms"].([]any); len(platforms) != 1 || platforms[0] != word {
			t.Errorf("%s is for %v, want %s", path, platforms, word)
		}
	}
}

// TestRegistryEntry: server.json of the MCP registry, schema 2025-12-11, and the
// packages that it names.
func TestRegistryEntry(t *testing.T) {
	m := manifest(t, "server.json")
	members(t, "server.json", m, "$schema name title description version packages", "")
	if m["$schema"] != "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json" {
		t.Errorf("$schema is %v", m["$schema"])
	}
	matches(t, "name", m["name"], regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`))
	if d := m["description"].(string); len(d) > 100 {
		t.Errorf("the description has %d characters, at most 100 are taken", len(d))
	}
	types := []string{}
	for _, p := range m["packages"].([]any) {
		pkg := p.(object)
		members(t, "package", pkg, "registryType identifier transport", "registryBaseUrl version fileSha256 runtimeHint runtimeArguments packageArguments environmentVariables")
		types = append(types, pkg["registryType"].(string))
		if transport := inside(t, pkg, "transport"); transport["type"] != "stdio" {
			t.Errorf("transport is %v", transport)
		}
		args, _ := pkg["packageArguments"].([]any)
		for _, a := range args {
			arg := a.(object)
			switch arg["type"] {
			case "positional":
				members(t, "argument", arg, "type value", "*")
			case "named":
				members(t, "argument", arg, "type name", "*")
			default:
				t.Errorf("an argument of type %v", arg["type"])
			}
		}
		variables, _ := pkg["environmentVariables"].([]any)
		for _, v := range variables {
			members(t, "variable", v.(object), "name description", "isRequired isSecret format default value choices placeholder variables")
		}
	}
	if !slices.Equal(types, []string{"npm", "pypi"}) {
		t.Errorf("the packages are %v", types)
	}

	var npm object
	if err := json.Unmarshal([]byte(run(t, nil, "", "tar", "xzOf", find(t, "npm/engramctl-[0-9]*.tgz"), "package/package.json")), &npm); err != nil {
		t.Fatal(err)
	}
	if npm["mcpName"] != m["name"] {
		t.Errorf("npm's mcpName is %v, the registry's name %v", npm["mcpName"], m["name"])
	}
	metadata := run(t, nil, "", "python3", "-c", "import sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nprint(z.read([n for n in z.namelist() if n.endswith('METADATA')][0]).decode())", find(t, "pypi/*win_amd64.whl"))
	if !strings.Contains(metadata, "mcp-name: "+m["name"].(string)) {
		t.Error("the wheel does not name the registry's entry")
	}
}

// TestNpmManifests: what npm reads, and that all platforms have one version.
func TestNpmManifests(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(dist, "npm/*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	var main object
	platforms := object{}
	for _, path := range found {
		var m object
		if err := json.Unmarshal([]byte(run(t, nil, "", "tar", "xzOf", path, "package/package.json")), &m); err != nil {
			t.Fatal(err)
		}
		members(t, path, m, "name version description license author files", "mcpName keywords bin os cpu preferUnplugged engines optionalDependencies")
		matches(t, "version", m["version"], semverText)
		if m["bin"] != nil {
			main = m
		} else {
			platforms[m["name"].(string)] = m["version"]
			if m["os"] == nil || m["cpu"] == nil {
				t.Errorf("%s would be installed everywhere", path)
			}
		}
	}
	if got := inside(t, main, "optionalDependencies"); len(got) != 6 || !maps.Equal(got, platforms) {
		t.Errorf("engramctl asks for %v, there is %v", got, platforms)
	}
}

// TestPluginManifests: Claude Code's, Codex's and Cursor's, all of one plugin.
func TestPluginManifests(t *testing.T) {
	v := version(t)
	for harness, may := range map[string]string{
		"claude": "displayName homepage repository commands agents skills hooks mcpServers outputStyles lspServers userConfig dependencies",
		"codex":  "skills mcpServers apps hooks interface homepage repository",
		"cursor": "displayName minClientVersions publisher homepage repository logo category tags commands agents skills rules hooks variables mcpServers",
	} {
		m := manifest(t, plugin+"/."+harness+"-plugin/plugin.json")
		members(t, harness, m, "name version description author license keywords", may)
		matches(t, harness+" name", m["name"], kebab)
		members(t, harness+" author", inside(t, m, "author"), "name", "email")
		if m["name"] != "engram" || m["version"] != v {
			t.Errorf("%s: %v %v, want engram %s", harness, m["name"], m["version"], v)
		}
		// What a manifest names is inside the plugin and there.
		for _, name := range []string{"skills", "hooks", "mcpServers", "rules"} {
			path, ok := m[name].(string)
			if !ok {
				continue
			}
			if _, err := os.Stat(filepath.Join(dist, plugin, path)); err != nil || !strings.HasPrefix(path, "./") || strings.Contains(path, "..") {
				t.Errorf("%s: %s %s: %v", harness, name, path, err)
			}
		}
	}
	for path, source := range map[string]func(object) any{
		".claude-plugin":  func(o object) any { return o["source"] },
		".agents/plugins": func(o object) any { return inside(t, o, "source")["path"] },
		".cursor-plugin":  func(o object) any { return o["source"] },
	} {
		m := manifest(t, "plugin/"+path+"/marketplace.json")
		members(t, path, m, "name plugins", "owner interface metadata")
		plugins := m["plugins"].([]any)
		entry := plugins[0].(object)
		if len(plugins) != 1 || entry["name"] != "engram" || source(entry) != "./engram" {
			t.Errorf("%s offers %v", path, plugins)
		}
	}
}

// TestHookEvents: each harness is asked for events that it has.
func TestHookEvents(t *testing.T) {
	for name, events := range map[string]string{
		"hooks.json":  "SessionStart UserPromptSubmit SubagentStart Stop PreCompact SessionEnd",
		"codex.json":  "SessionStart UserPromptSubmit SubagentStart Stop PreCompact SessionEnd",
		"cursor.json": "sessionStart beforeSubmitPrompt stop preCompact sessionEnd",
	} {
		members(t, name, inside(t, manifest(t, plugin+"/hooks/"+name), "hooks"), events, "")
	}
}

// TestSkills: a name that is its folder's, and a description that says when.
func TestSkills(t *testing.T) {
	found, err := filepath.Glob(filepath.Join(dist, plugin, "skills/*/SKILL.md"))
	if err != nil || len(found) != 3 {
		t.Fatalf("%v, %v", found, err)
	}
	head := regexp.MustCompile(`(?s)\A---\nname: ([a-z0-9-]{1,64})\ndescription: ([^\n]{40,})\n---\n`)
	for _, path := range found {
		m := head.FindStringSubmatch(read(t, path))
		if m == nil || len(m[2]) > 1024 || m[1] != filepath.Base(filepath.Dir(path)) {
			t.Errorf("%s begins with %q", path, m)
		}
	}
}

// TestSBOM: each names the program by its hash and everything that go version
// finds in it.
func TestSBOM(t *testing.T) {
	for _, program := range []string{"engramctl", "engramd"} {
		folder := t.TempDir()
		run(t, nil, folder, "tar", "xzf", find(t, program+"_*_linux_"+here+".tar.gz"), "--strip-components=1")
		var bom struct {
			Format   string `json:"bomFormat"`
			Spec     string `json:"specVersion"`
			Metadata struct {
				Component struct {
					Name   string
					Hashes []struct{ Alg, Content string }
				}
			}
			Components []struct{ Name, Version, PURL string }
		}
		readJSON(t, find(t, "sbom/"+program+"_*_linux_"+here+".cdx.json"), &bom)
		sum, _, _ := strings.Cut(run(t, nil, folder, "sha256sum", program), " ")
		main := bom.Metadata.Component
		if bom.Format != "CycloneDX" || bom.Spec != "1.6" || main.Name != program || len(main.Hashes) != 1 || main.Hashes[0].Content != sum {
			t.Errorf("%s: %s %s of %+v, the program has %s", program, bom.Format, bom.Spec, main, sum)
		}
		listed := map[string]bool{}
		for _, c := range bom.Components {
			listed[c.Name+" "+c.Version] = true
		}
		for _, native := range []string{"sqlite", "libsecp256k1", "glibc"} {
			found := slices.ContainsFunc(bom.Components, func(c struct{ Name, Version, PURL string }) bool { return c.Name == native })
			if found != (program == "engramd" || native == "sqlite") {
				t.Errorf("%s is in the list of %s: %v", native, program, found)
			}
		}
		if !listed["nostr-tools 2.25.2"] || !listed["@noble/curves 2.0.1"] {
			t.Errorf("the list of %s lacks what is in the owner's page", program)
		}
		modules := 0
		for _, line := range strings.Split(run(t, os.Environ(), folder, "go", "version", "-m", program), "\n") {
			f := strings.Fields(line)
			if len(f) >= 3 && f[0] == "dep" {
				modules++
				if !listed[f[1]+" "+f[2]] {
					t.Errorf("%s has %s %s, its list has not", program, f[1], f[2])
				}
			}
		}
		if modules < 20 {
			t.Errorf("%s seems to have %d modules", program, modules)
		}
		licences := read(t, filepath.Join(folder, "THIRD-PARTY-LICENSES.txt"))
		if strings.Count(licences, "\n== ") < modules+1 || strings.Contains(licences, "no licence file") {
			t.Errorf("%s: licences for %d of %d modules", program, strings.Count(licences, "\n== "), modules)
		}
		// Terms that no file at the top of a module says: of code inside another
		// module, and of what is linked statically.
		inside := map[string][]string{
			"engramctl": {"-- in internal/shellescape", "-- in internal/xchacha", "== @noble/hashes 2.0.1 (MIT)"},
			"engramd":   {"== @noble/hashes 2.0.1 (MIT)", "-- in internal/github.com/golang/gddo", "Pieter Wuille", "GNU LESSER GENERAL PUBLIC LICENSE"},
		}
		for _, terms := range inside[program] {
			if !strings.Contains(licences, terms) {
				t.Errorf("%s: the licences lack %q", program, terms)
			}
		}
	}
}
