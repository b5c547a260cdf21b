package harness

import (
	"slices"
	"strings"

	"engramd/internal/platform/pattern"
)

// grantForm is what Claude Code calls ours in its permissions. Only those of a server
// with characters at its end are ours: others a person wrote.
var grantForm = pattern.Later(`^mcp__` + entryName + `-[a-z0-9]{4}__[a-z_]+$`)

// grant is Claude Code's name of a server's tool.
func grant(server, tool string) string { return "mcp__" + server + "__" + tool }

// fewestGrants is how many tools setup allows at least. Of fewer a person allowed each, and
// another setup adds none.
const fewestGrants = 3

// choicesOf are the entries of Claude Code's settings that are a person's to decide:
// which tools run unasked, and that it keeps no memory of its own. What e leaves open is
// as it is there; a switch that a person set stays.
func choicesOf(fsys Reader, settings string, e Entry) []part {
	grants := part{label: "permissions", path: []string{"permissions", "allow"}, keep: lines{}, optional: true, claim: func(d *document, n *node) (claim, run) {
		return map[bool]claim{true: ours}[grantForm().MatchString(d.string(n))], run{}
	}}
	mute := part{label: "builtin-memory", name: autoMemory, value: off{}, without: true, optional: true, claim: func(d *document, n *node) (claim, run) {
		return map[bool]claim{true: ours}[string(d.src[n.s:n.e]) == "false" && strings.HasSuffix(string(d.src[:n.s]), ":  ")], run{}
	}}
	d := parsed(fsys, settings)
	if d == nil {
		return []part{grants, mute} // editing it will say so
	}
	var named []string // tools that are allowed
	for _, at := range d.find(grants) {
		_, tool, _ := strings.Cut(strings.TrimPrefix(d.string(at.kid().v), "mcp__"), "__")
		named = append(named, tool)
	}
	switch wrote := len(named) >= min(fewestGrants, len(e.Free)); {
	case e.Allow == On:
		named = e.Free
	case e.Allow.on(wrote):
		named = slices.DeleteFunc(slices.Clone(e.Free), func(tool string) bool {
			return matching(append(d.rules("ask"), d.rules("deny")...), e.Name, tool)
		})
	case e.Allow == Off:
		named = nil
	}
	for _, tool := range named {
		grants.keep = append(grants.keep, grant(e.Name, tool))
	}
	there := len(d.find(mute)) > 0
	mute.without = !e.NoBuiltin.on(there) || !there && d.root.member(autoMemory) != nil
	return []part{grants, mute}
}

// asked are the tools of a server that Claude Code asks for, or refuses where nobody can
// answer, by a person's settings.
func asked(fsys Reader, settings, server string, tools []string) (all []string) {
	d := parsed(fsys, settings)
	if d == nil {
		return nil
	}
	for _, tool := range tools {
		if !matching(d.rules("allow"), server, tool) || matching(append(d.rules("ask"), d.rules("deny")...), server, tool) {
			all = append(all, tool)
		}
	}
	return all
}

// rules are those of Claude Code's permissions of one name.
func (d *document) rules(name string) (all []string) {
	n := d.root.member("permissions").member(name)
	if n.kindOf() == '[' {
		for _, k := range n.kids {
			all = append(all, d.string(k.v))
		}
	}
	return all
}

// matching reports whether one of the rules is about a server's tool.
func matching(rules []string, server, tool string) bool {
	return slices.ContainsFunc(rules, func(rule string) bool {
		head, wild := strings.CutSuffix(rule, "*")
		return rule == "mcp__"+server || rule == grant(server, tool) || wild && strings.HasPrefix(head, grant(server, "")) && strings.HasPrefix(grant(server, tool), head)
	})
}
