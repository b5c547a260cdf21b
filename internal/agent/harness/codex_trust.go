package harness

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"engramd/internal/platform/pattern"
)

// capital begins a word in the name of an event.
var capital = pattern.Later(`\B[A-Z]`)

// codexPlugin reports whether our plugin is in Codex's settings.
func codexPlugin(config map[string]any) bool {
	p := below(config, "plugins", pluginName)
	return p != nil && p["enabled"] != false
}

// untrusted are the events whose hooks are in Codex and do not run, since no person has
// trusted them as they stand there. What was trusted is in config.toml: for the place of
// each hook, the hash of what it said.
func untrusted(fsys Reader, folder string) (events []string) {
	config, path := tomlAt(fsys, filepath.Join(folder, "config.toml")), filepath.Join(folder, "hooks.json")
	real, _ := filepath.EvalSymlinks(path) // as Codex has it where CODEX_HOME is a link
	trusts := func(place, hash string) bool {
		at := below(config, "hooks", "state", place)
		seen, _ := at["trusted_hash"].(string)
		return at["enabled"] != false && seen != "" && seen == cmp.Or(hash, seen)
	}
	d, plugin := parsed(fsys, path), codexPlugin(config)
	parts, _ := nested(Entry{Binary: "/engramctl"}, posix, "codex", codexEvents) // that path can be written
	for _, p := range parts {
		event := strings.ToLower(capital().ReplaceAllString(p.path[1], "_$0"))
		if plugin && !trusts(pluginName+":hooks/codex.json:"+event+":0:0", "") {
			events = append(events, p.label)
		}
		if plugin || d == nil {
			continue
		}
		for _, at := range d.find(p) {
			group, handler, n := at.steps[len(p.path)].i, at.last().i, at.kid().v
			if len(at.steps) == len(p.path)+1 { // the whole group is ours
				handler, n = 0, n.member("hooks").kids[0].v
			}
			hash, timeout := "", n.member("timeout") // one that a person changed may say more than is known here
			if at.claim == ours && timeout != nil {
				hash = fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(quote(map[string]any{"event_name": event, "hooks": list{map[string]any{"async": false,
					"command": d.string(n.member("command")), "timeout": json.RawMessage(d.src[timeout.s:timeout.e]), "type": "command"}}}))))
			}
			if place := fmt.Sprintf(":%s:%d:%d", event, group, handler); !trusts(path+place, hash) && !trusts(real+place, hash) {
				events = append(events, p.label)
			}
		}
	}
	return events
}
