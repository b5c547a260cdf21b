package harness

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var allowing = Entry{Binary: entry.Binary, Name: entry.Name, Free: []string{"memory_read", "memory_write"}, Allow: On, NoBuiltin: On}

// TestAllow: a person's choices are spliced in, stay with the next setup, follow the
// server's name, and are taken out byte for byte; what a person wrote stays.
func TestAllow(t *testing.T) {
	cases := map[string][]string{
		settings: {"", "{}\n", `{"permissions": {"allow": ["Bash(ls:*)", "mcp__engram__memory_read"], "deny": []}}`, "{\n\t\"permissions\": {\n\t\t\"allow\": [],\n\t},\n}\n",
			"{\n  // mine\n  \"permissions\": {}, \"model\": \"opus\"\n}"},
		codexDir + "config.toml": {"", "model = \"o\"\n", "[mcp_servers.other]\ncommand = \"x\"\r\n"},
	}
	for path, all := range cases {
		h := named(t, map[bool]string{true: "claude", false: "codex"}[path == settings])
		for _, src := range all {
			before := files{}
			if src != "" {
				before[path] = src
			}
			with, _ := install(t, h, before, roots, allowing)
			keepsForeign(t, path, src, with[path])
			on := func(f files, server string) (n int) {
				for _, tool := range allowing.Free {
					n += strings.Count(f[path], `"mcp__`+server+"__"+tool+`"`) + strings.Count(f[path], "tools."+tool+".approval_mode = \"approve\"\n")
				}
				return n + strings.Count(f[path], "\"autoMemoryEnabled\":  false") + strings.Count(f[path], "use_memories = false")
			}
			if got := on(with, allowing.Name); got != 3 {
				t.Fatalf("%q becomes\n%s", src, with[path])
			}
			kept := entry
			kept.Free = allowing.Free
			if _, plan := install(t, h, with, roots, kept); len(plan.Changes)+len(plan.Edited) > 0 {
				t.Errorf("without a choice the next setup changes\n%s %v", Diff(plan.Changes), plan.Edited)
			}
			older := allowing
			older.Free = []string{"memory_append", "memory_read"}
			old, _ := install(t, h, before, roots, older)
			if got := h.Decided(old, roots, older.Name, allowing.Free).Asked; path == settings && !slices.Equal(got, []string{"memory_write"}) {
				t.Errorf("with the list of an older version it asks for %q", got)
			}
			if now, _ := install(t, h, old, roots, kept); !maps.Equal(now, with) {
				t.Errorf("the list of an older version becomes\n%s", now[path])
			}
			if after, plan := uninstall(t, h, old, roots, Entry{}); !maps.Equal(after, before) || len(plan.Edited) > 0 {
				t.Errorf("with the list of an older version, before\n%q\nafter\n%q", before, after)
			}
			kept.Name = "engram-zzzz"
			if other, _ := install(t, h, with, roots, kept); on(other, kept.Name) != 3 || strings.Contains(other[path], allowing.Name) {
				t.Errorf("another name becomes\n%s", other[path])
			}
			kept.Name, kept.Allow, kept.NoBuiltin = allowing.Name, Off, Off
			if none, _ := install(t, h, with, roots, kept); on(none, kept.Name) != 0 {
				t.Errorf("taken back it is\n%s", none[path])
			}
			if after, plan := uninstall(t, h, with, roots, Entry{}); !maps.Equal(after, before) || len(plan.Edited) > 0 {
				t.Errorf("before\n%q\nafter\n%q", before, after)
			}
		}
	}
}

// TestOwnSwitchesStay: what a person says of the harness's own memory is theirs.
func TestOwnSwitchesStay(t *testing.T) {
	for path, src := range map[string]string{settings: `{"autoMemoryEnabled": false}`, settings + " ": `{"autoMemoryEnabled":true}`, codexDir + "config.toml": "[memories]\nuse_memories = true\n"} {
		h := named(t, map[bool]string{true: "claude", false: "codex"}[strings.HasPrefix(path, settings)])
		before := files{strings.TrimSpace(path): src}
		with, _ := install(t, h, before, roots, allowing)
		if got := with[strings.TrimSpace(path)]; strings.Count(got, autoMemory)+strings.Count(got, "[memories]") != 1 {
			t.Errorf("%s becomes\n%s", src, got)
		}
		if after, _ := uninstall(t, h, with, roots, Entry{}); !maps.Equal(after, before) {
			t.Errorf("%q comes back as %q", src, after)
		}
	}
}

// TestOlderNames: a server with the name that older versions gave it is moved over;
// one of that name that is another's is not ours.
func TestOlderNames(t *testing.T) {
	for name, c := range map[string]struct{ path, ours, theirs string }{
		"claude":   {servers, `{"mcpServers": {"engram": {"command": "/old/engramctl", "args": ["mcp", "--tools", "memory,mind"]}, "x": {"command": "y"}}}`, `{"mcpServers": {"engram": {"command": "other", "args": ["mcp"]}}}`},
		"opencode": {"/home/ana/.config/opencode/opencode.json", `{"mcp": {"engram": {"type": "local", "command": ["/old/engramctl", "mcp"], "enabled": true}}}`, `{"mcp": {"engram": {"type": "local", "command": ["other"]}}}`},
		"codex":    {codexDir + "config.toml", "model = \"o\"\n\n" + summed("# >>> engram, "+sumPlace+"\n[mcp_servers.engram]\ncommand = \"/old/engramctl\"\nargs = [\"mcp\", \"--tools\", \"memory,mind\"]\n# <<< engram\n"), "[mcp_servers.engram]\ncommand = \"other\"\n"},
	} {
		h := named(t, name)
		s, err := h.Check(files{c.path: c.ours}, roots, entry)
		if err != nil || s.Server != "engram" || !s.Outdated || len(s.Edited) > 0 {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		with, plan := install(t, h, files{c.path: c.ours}, roots, entry)
		if s, err = h.Check(with, roots, entry); err != nil || s.Server != entry.Name || s.Outdated || len(plan.Edited) > 0 || strings.Contains(with[c.path], "/old/") {
			t.Errorf("%s: moved over it is %+v, %v\n%s", name, s, err, with[c.path])
		}
		with, _ = install(t, h, files{c.path: c.theirs}, roots, entry)
		if s, err = h.Check(with, roots, entry); err != nil || !s.Installed || s.Server != entry.Name || len(s.Edited) > 0 || !strings.Contains(with[c.path], "other") {
			t.Errorf("%s: beside another's it is %+v, %v\n%s", name, s, err, with[c.path])
		}
		if after, _ := uninstall(t, h, with, roots, Entry{Force: true}); after[c.path] != c.theirs {
			t.Errorf("%s: another's comes back as %q", name, after)
		}
	}
	if got := named(t, "codex").Decided(files{codexDir + "config.toml": "[mcp_servers.engram-k3x9]\ndefault_tools_approval_mode = \"auto\"\ntools.memory_read.approval_mode = \"prompt\"\n"}, roots, entry.Name, []string{"memory_delete", "memory_read", "memory_write"}).Asked; !slices.Equal(got, []string{"memory_delete", "memory_read"}) {
		t.Errorf("Codex asks for %v", got)
	}
	for range 100 {
		if name := NewName(); !NameOK(name) || name == entryName {
			t.Fatal(name)
		}
	}
}

// TestRewrittenSwitch: where a program wrote the settings anew the switch is not known
// to be ours any more, and a removal says so.
func TestRewrittenSwitch(t *testing.T) {
	h := named(t, "claude")
	with, _ := install(t, h, files{}, roots, allowing)
	with[settings] = strings.Replace(with[settings], ":  false", ": false", 1)
	after, plan := uninstall(t, h, with, roots, Entry{})
	if after[settings] != "{\n  \"autoMemoryEnabled\": false\n}\n" || len(plan.Notes) != 1 || !strings.HasPrefix(plan.Notes[0], "autoMemoryEnabled: false stays in "+settings) {
		t.Errorf("%q, %q", after[settings], plan.Notes)
	}
}

// TestPlugin: an installation by the plugin is seen, and only ours.
func TestPlugin(t *testing.T) {
	for _, c := range []struct{ harness, path, src, want string }{
		{"claude", settings, `{"enabledPlugins": {"engram@engramd": true}}`, "claude plugin uninstall engram@engramd"},
		{"claude", settings, `{"enabledPlugins": {"engram@engramd": false, "engram@engram": true}}`, ""},
		{"codex", codexDir + "config.toml", "[plugins.\"engram@engramd\"]\nenabled = true\n", "codex plugin remove engram@engramd"},
		{"codex", codexDir + "config.toml", "[plugins.\"engram@engramd\"]\nenabled = false\n", ""},
		{"cursor", settings, "{}", ""},
	} {
		if got := named(t, c.harness).Decided(files{c.path: c.src}, roots, "", nil).Plugin; got != c.want {
			t.Errorf("%s with %s: %q", c.harness, c.src, got)
		}
	}
}

// TestBrought: the servers that a folder brings, and those of our own name.
func TestBrought(t *testing.T) {
	all := files{
		"/work/atlas/.mcp.json":           `{"mcpServers": {"engram": {}, "other": {}, "Engram-x": {}}}`,
		"/work/atlas/.codex/config.toml":  "[mcp_servers.engram-k3x9]\n",
		"/work/opencode.jsonc":            "{ // x\n \"mcp\": {\"engrams\": {}}}",
		"/work/atlas/sub/opencode.json":   `{"mcp": [`,
		"/home/ana/.cursor/mcp.json":      `{"mcpServers": {"engram-k3x9": {}}}`,
		"/work/.gemini/settings.json":     `{"mcpServers": {"engram-gem": {}}}`,
		"/work/.qwen/settings.json":       `{"mcpServers": {"engram-qwe": {}}}`,
		"/work/.github/mcp.json":          `{"mcpServers": {"engram-cop": {}}}`,
		"/home/ana/.claude.json":          `{"mcpServers": {"engram-k3x9": {}}, "projects": {"/work/x": {"mcpServers": {"engram-k3x9": {}, "engram": {}}}, "/y": {}}}`,
		"/home/ana/code/.cursor/mcp.json": `{"mcpServers": {"engram-k3x9": {}}}`,
	}
	names := func(all []Server) (names []string) {
		for _, s := range all {
			names = append(names, s.File+" "+s.Name)
		}
		return names
	}
	found, unread := Brought(all, roots, "/work/atlas/sub")
	if got, want := names(found), []string{"/work/atlas/.mcp.json engram", "/work/atlas/.mcp.json Engram-x", "/work/atlas/.codex/config.toml engram-k3x9", "/work/.gemini/settings.json engram-gem", "/work/.qwen/settings.json engram-qwe", "/work/.github/mcp.json engram-cop", "/work/opencode.jsonc engrams"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !slices.Equal(unread, []string{"opencode.json"}) {
		t.Errorf("unread: %v", unread)
	}
	if got, unread := Brought(all, roots, "/home/ana"); len(got)+len(unread) > 0 {
		t.Errorf("a person's own are %q, %v", got, unread)
	}
	found, _ = Elsewhere(all, roots, "/home/ana/code", entry.Name)
	if got, want := names(found), []string{"/home/ana/code/.cursor/mcp.json engram-k3x9", "/home/ana/.claude.json: /work/x engram-k3x9"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got, unread := Elsewhere(files{}, roots, "", entry.Name); len(got)+len(unread) > 0 {
		t.Errorf("%q %v", got, unread)
	}
}

// refusing is a file system of which some files cannot be read.
type refusing struct {
	files
	no string
}

func (r refusing) ReadFile(name string) ([]byte, error) {
	if name == r.no {
		return nil, fs.ErrPermission
	}
	return r.files.ReadFile(name)
}

// TestBroughtUnread: what cannot be read, or is not looked at, may bring a server, and
// is told in no words of the folder's.
func TestBroughtUnread(t *testing.T) {
	const server = `{"mcpServers": {"engram": {}}}`
	deep := "/w" + strings.Repeat("/ignore what was said", maxAbove+1)
	large := server + strings.Repeat(" ", maxBeside)
	crowd := files{}
	for i := range 6 {
		crowd["/w"+strings.Repeat("/x", i)+"/.mcp.json"] = server + strings.Repeat(" ", maxBeside-len(server))
	}
	for name, tt := range map[string]struct {
		all    Reader
		folder string
		found  int
		want   []string
	}{
		"too large":       {files{"/w/.mcp.json": large}, "/w", 0, []string{".mcp.json"}},
		"not allowed":     {refusing{files{"/w/.mcp.json": server}, "/w/.mcp.json"}, "/w/x/y", 0, []string{"../../.mcp.json"}},
		"no UTF-8":        {files{"/w/.cursor/mcp.json": server + "\xff"}, "/w", 0, []string{".cursor/mcp.json"}},
		"no JSON":         {files{"/w/.mcp.json": `{"mcpServers": {"engram": {}`}, "/w", 0, []string{".mcp.json"}},
		"no TOML":         {files{"/w/.codex/config.toml": "[mcp_servers.engram]\n=\n"}, "/w", 0, []string{".codex/config.toml"}},
		"a folder":        {files{"/w/.mcp.json/x": "x"}, "/w", 0, []string{".mcp.json"}},
		"too deep":        {files{"/.mcp.json": server}, deep, 0, []string{"what is further up"}},
		"deep":            {files{"/w/.mcp.json": server}, "/w" + strings.Repeat("/x", maxAbove-1), 1, nil},
		"too much in all": {crowd, "/w/x/x/x/x/x", 4, []string{"../../../../.mcp.json", "../../../../../.mcp.json"}},
		"nothing there":   {files{}, "/w", 0, nil},
		"an empty file":   {files{"/w/.mcp.json": ""}, "/w", 0, nil},
	} {
		found, unread := Brought(tt.all, roots, tt.folder)
		if len(found) != tt.found || !slices.Equal(unread, tt.want) {
			t.Errorf("%s: %v and %q", name, found, unread)
		}
	}
}

// TestDiskIsBounded: a link in a folder may lead to a file without an end.
func TestDiskIsBounded(t *testing.T) {
	src, err := Disk{}.ReadFile("/dev/zero")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no such file here")
	}
	if err != nil || len(src) != maxFile+1 {
		t.Errorf("%d bytes, %v", len(src), err)
	}
}

// TestAsked: which tools a person's rules ask for.
func TestAsked(t *testing.T) {
	tools := []string{"memory_read", "memory_write"}
	for rules, want := range map[string][]string{
		`{}`: tools, `{"permissions": {"allow": ["mcp__engram-k3x9"]}}`: nil, `{"permissions": {"allow": ["mcp__engram-k3x9__*"]}}`: nil,
		`{"permissions": {"allow": ["mcp__engram-k3x9__memory_r*"]}}`:                                                  {"memory_write"},
		`{"permissions": {"allow": ["mcp__*", "mcp__engram__*", "*"]}}`:                                                tools,
		`{"permissions": {"allow": ["mcp__engram-k3x9"], "deny": ["mcp__engram-k3x9__memory_read"], "ask": ["Bash"]}}`: {"memory_read"},
	} {
		if got := asked(files{settings: rules}, settings, entry.Name, tools); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", rules, got, want)
		}
	}
}

// TestBuiltin counts what harnesses remember themselves.
func TestBuiltin(t *testing.T) {
	home := t.TempDir()
	write := func(path, text string) {
		path = filepath.Join(home, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{".claude/projects/-a/memory/MEMORY.md", ".claude/projects/-a/memory/deep/x.md", ".claude/projects/-b/memory/y.md", ".claude/projects/-b/notes.md", ".claude/projects/-b/memory/z.json", ".codex/memories/a.md"} {
		write(path, "x")
	}
	r := Roots{Home: home}
	check := func(harness string, files int, off bool) {
		t.Helper()
		b := named(t, harness).Decided(Disk{}, r, "", nil).Builtin
		if b == nil || b.Files != files || b.Off != off {
			t.Errorf("%s: %+v", harness, b)
		}
	}
	check("claude", 3, false)
	check("codex", 1, true)
	write(".claude/settings.json", `{"autoMemoryEnabled": true}`)
	write(".codex/config.toml", "[features]\nmemories = true\n")
	check("claude", 3, false)
	check("codex", 1, false)
	write(".claude/settings.json", `{"autoMemoryEnabled": false}`)
	write(".codex/config.toml", "[features]\nmemories = true\n[memories]\nuse_memories = false\ngenerate_memories = false\n")
	check("claude", 3, true)
	check("codex", 1, true)
	if b := named(t, "cursor").Decided(Disk{}, r, "", nil).Builtin; b != nil {
		t.Errorf("%+v", b)
	}
}

// TestCopilotAllow: the hook that lets tools run unasked names those of our server, stays
// with the next setup, follows the server's name, and goes byte for byte.
func TestCopilotAllow(t *testing.T) {
	h, path := named(t, "copilot"), "/srv/copilot/hooks/engram.json"
	r := Roots{Home: roots.Home, CopilotHome: "/srv/copilot"}
	for _, src := range []string{"", "{}\n", `{"version": 1, "hooks": {"permissionRequest": [{"matcher": "engram-k3x9/(memory_read)", "command": "mine"}]}}`} {
		before := files{}
		if src != "" {
			before[path] = src
		}
		with, _ := install(t, h, before, r, allowing)
		if got := h.Decided(with, r, allowing.Name, []string{"memory_read", "memory_write", "memory_delete"}).Asked; !slices.Equal(got, []string{"memory_delete"}) {
			t.Errorf("with --allow it asks for %v in\n%s", got, with[path])
		}
		other := Entry{Binary: entry.Binary, Name: "engram-zzzz", Free: allowing.Free[:1]}
		with, _ = install(t, h, with, r, other)
		if got := h.Decided(with, r, other.Name, allowing.Free).Asked; !slices.Equal(got, allowing.Free[1:]) || len(h.Decided(with, r, allowing.Name, allowing.Free).Asked) != 2 {
			t.Errorf("with another name it asks for %v in\n%s", got, with[path])
		}
		other.Allow = Off
		if none, _ := install(t, h, with, r, other); strings.Contains(none[path], "behavior") {
			t.Errorf("taken back it is\n%s", none[path])
		}
		if after, plan := uninstall(t, h, with, r, Entry{}); !maps.Equal(after, before) || len(plan.Edited) > 0 {
			t.Errorf("before\n%q\nafter\n%q", before, after)
		}
	}
}

// TestAllowedByHand: without a choice, setup adds no tool to those that a person allowed,
// and none that a person has asked for or denied.
func TestAllowedByHand(t *testing.T) {
	h := named(t, "claude")
	e := Entry{Binary: entry.Binary, Name: "engram-k3x9", Free: []string{"memory_read", "memory_write", "memory_note", "memory_delete"}}
	for src, want := range map[string]string{
		`{"permissions": {"allow": ["mcp__engram-k3x9__memory_read"]}}`:                                                                                                                                                           "memory_read",
		`{"permissions": {"allow": ["mcp__engram-k3x9__memory_read", "mcp__engram-k3x9__memory_note"]}}`:                                                                                                                          "memory_read memory_note",
		`{"permissions": {"allow": ["mcp__engram-k3x9__memory_read", "mcp__engram-k3x9__memory_write", "mcp__engram-k3x9__memory_append"]}}`:                                                                                      "memory_read memory_write memory_note memory_delete",
		`{"permissions": {"allow": ["mcp__engram-k3x9__memory_read", "mcp__engram-k3x9__memory_write", "mcp__engram-k3x9__memory_append"], "ask": ["mcp__engram-k3x9__memory_delete"], "deny": ["mcp__engram-k3x9__memory_n*"]}}`: "memory_read memory_write",
	} {
		with, _ := install(t, h, files{settings: src}, roots, e)
		var got []string
		for _, rule := range parsed(with, settings).rules("allow") {
			got = append(got, strings.TrimPrefix(rule, "mcp__engram-k3x9__"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s allows %q", src, got)
		}
	}
}
