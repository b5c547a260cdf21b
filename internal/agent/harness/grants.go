package harness

import (
	"regexp"
	"slices"
	"strings"
)

// grantForm is what Claude Code calls ours in its permissions. Only those of a server
// with characters at its end are ours: others a person wrote.
var grantForm = regexp.MustCompile(`^mcp__` + entryName + `-[a-z0-9]{4}__[a-z_]+$`)

// grants are the tools in permissions.allow of Claude Code's settings that run unasked.
type grants struct{ want []string }

// grantsOf are those that e says, given the settings: with Keep what is there is brought
// up to date.
func grantsOf(fsys Reader, settings string, e Entry) grants {
	d := parsed(fsys, settings)
	if d == nil || !e.Allow.on(len(d.find(grants{}.part())) > 0) {
		return grants{}
	}
	var g grants
	for _, tool := range e.Free {
		g.want = append(g.want, grant(e.Name, tool))
	}
	return g
}

// grant is Claude Code's name of a server's tool.
func grant(server, tool string) string { return "mcp__" + server + "__" + tool }

// part finds those of ours that are not wanted.
func (g grants) part() part {
	return part{label: "permissions", path: []string{"permissions", "allow"}, optional: true, claim: func(d *document, n *node) (claim, run) {
		if text := d.string(n); grantForm.MatchString(text) && !slices.Contains(g.want, text) {
			return ours, run{}
		}
		return foreign, run{}
	}}
}

func (g grants) install(src []byte, exists, _ bool) (result, error) {
	out, err := jsonForm{parts: []part{g.part()}}.remove(src, exists, true)
	if err != nil || len(g.want) == 0 {
		return out, err
	}
	d, err := scan(out.text, false)
	if err != nil {
		return result{}, err
	}
	list := d.root.member("permissions").member("allow")
	var missing lines
	var entries object
	for _, name := range g.want {
		if list.kindOf() != '[' || !slices.ContainsFunc(list.kids, func(k kid) bool { return d.string(k.v) == name }) {
			missing, entries = append(missing, name), append(entries, field{value: name})
		}
	}
	switch {
	case len(missing) == 0:
	case list.kindOf() == '[':
		out.text = d.add(list, entries)
	default:
		out.text, err = jsonForm{}.insert(d, part{path: []string{"permissions"}, name: "allow", value: missing}, out.exists)
	}
	return result{text: out.text, exists: true}, err
}

func (g grants) remove(src []byte, exists, _ bool) (result, error) {
	return jsonForm{parts: []part{grants{}.part()}}.remove(src, exists, true)
}

func (g grants) look(src []byte) (seen, error) {
	return jsonForm{parts: []part{grants{}.part()}}.look(src)
}

// asked are the tools of a server that Claude Code asks for, or refuses where nobody can
// answer, by a person's settings.
func asked(fsys Reader, settings, server string, tools []string) (all []string) {
	d := parsed(fsys, settings)
	if d == nil {
		return nil
	}
	rules := func(name string) (all []string) {
		n := d.root.member("permissions").member(name)
		if n.kindOf() == '[' {
			for _, k := range n.kids {
				all = append(all, d.string(k.v))
			}
		}
		return all
	}
	matches := func(rules []string, tool string) bool {
		return slices.ContainsFunc(rules, func(rule string) bool {
			head, wild := strings.CutSuffix(rule, "*")
			return rule == "mcp__"+server || rule == grant(server, tool) || wild && strings.HasPrefix(head, grant(server, "")) && strings.HasPrefix(grant(server, tool), head)
		})
	}
	allow, held := rules("allow"), append(rules("ask"), rules("deny")...)
	for _, tool := range tools {
		if !matches(allow, tool) || matches(held, tool) {
			all = append(all, tool)
		}
	}
	return all
}
