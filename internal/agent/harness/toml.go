package harness

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"engramd/internal/platform/pattern"
)

// tomlForm is Codex's config.toml with tables of ours, between two comments,
// at its end. The newline before them belongs to them.
type tomlForm struct {
	entry Entry
	label string
}

var tomlBlock = pattern.Later(`(?m)^# >>> engram, ` + sumPlace + `[0-9a-f]{12}(?s:.*?)^# <<< engram\r?$\n?`)

// tomlInline is mcp_servers in one line, which no table may add to. Our decoder
// would allow it, Codex's does not.
var tomlInline = pattern.Later(`(?m)^[ \t]*["']?mcp_servers["']?[ \t]*=`)

// codexPasses are the variables that Codex hands to the server beside HOME and PATH: those
// by which hooks, which have them all, find the same memory and state.
const codexPasses = `["DBUS_SESSION_BUS_ADDRESS", "ENGRAM_CONFIG", "ENGRAM_HOOKS", "ENGRAM_KEY_FILE", "ENGRAM_KEY_PASSWORD_FILE", "ENGRAM_OWNER", "ENGRAM_PROFILE", "ENGRAM_RELAYS", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME"]`

// body are our tables, with sumPlace in the first comment: the server, which of its
// tools run unasked, and that Codex is to keep no memory of its own. What e leaves open
// is as was says.
func (f tomlForm) body(was *tomlDoc) string {
	e := f.entry
	var args []string
	for _, a := range arguments(e) {
		args = append(args, tomlText(a.(string)))
	}
	var b strings.Builder
	b.WriteString("# >>> engram, " + sumPlace + "\n[mcp_servers." + e.Name + "]\n")
	b.WriteString("command = " + tomlText(e.Binary) + "\nargs = [" + strings.Join(args, ", ") + "]\nenv_vars = " + codexPasses + "\n")
	if e.Allow.on(was.allows) {
		for _, tool := range e.Free {
			b.WriteString("tools." + tool + ".approval_mode = \"approve\"\n")
		}
	}
	if e.NoBuiltin.on(was.mutes) && (was.mutes || was.values["memories"] == nil) {
		b.WriteString("[memories]\nuse_memories = false\ngenerate_memories = false\n")
	}
	return b.String() + "# <<< engram\n"
}

// tomlText quotes a text. JSON's escapes are all TOML's too.
func tomlText(s string) string { return strings.ReplaceAll(quote(s), "\x7f", `\u007f`) }

// tomlDoc is what a document means, and where ours stands in it.
type tomlDoc struct {
	values        map[string]any
	block, last   []int // ours, and its last comment behind it; nil if there is none
	claim         claim
	run           run
	name          string // of our server
	allows, mutes bool   // what stands in the block beside it
}

// tomlValues is what a text means.
func tomlValues(text []byte) (map[string]any, error) {
	var values map[string]any
	err := toml.Unmarshal(text, &values)
	var at toml.ParseError
	if errors.As(err, &at) {
		return nil, fmt.Errorf("line %d, column %d: %s; correct it and run setup again (nothing was written)", at.Position.Line, at.Position.Col, at.Message)
	}
	if err != nil {
		return nil, fmt.Errorf("this is no TOML (%w); correct it and run setup again (nothing was written)", err)
	}
	return values, nil
}

func parseTOML(src []byte) (d *tomlDoc, err error) {
	d = &tomlDoc{}
	text := bytes.TrimPrefix(src, bom)
	if d.values, err = tomlValues(text); err != nil {
		return nil, err
	}
	d.block = tomlBlock().FindIndex(text)
	asWritten, own := false, map[string]any{}
	if d.block != nil {
		d.block[0] += len(src) - len(text)
		d.block[1] += len(src) - len(text)
		own, asWritten = d.split(src)
	}
	table := d.server(own)
	if table == nil {
		d.block, d.last = nil, nil
		return d, nil
	}
	d.mutes = own["memories"] != nil
	d.allows = table["tools"] != nil
	if !asWritten || !reflect.DeepEqual(own["mcp_servers"], any(map[string]any{d.name: table})) || d.mutes && !reflect.DeepEqual(own["memories"], d.values["memories"]) {
		d.claim = edited // Codex itself adds tables for tools that a person allowed
	}
	return d, nil
}

// maxLines is more than ours are.
const maxLines = 64

// split finds what of the block is ours, what that means, and whether it is as it was
// written. Codex puts tables of its own at the end of the file before the last comment, so
// behind ours and within the block; they stay where they are.
func (d *tomlDoc) split(src []byte) (own map[string]any, asWritten bool) {
	all := src[d.block[0]:d.block[1]]
	end := bytes.LastIndex(all, []byte("# <<<"))
	last := append(bytes.Clone(bytes.TrimRight(all[end:], "\r\n")), '\n')
	d.last = []int{d.block[0] + end, d.block[1]}
	for at, line := 0, 0; at < end && line < maxLines && !asWritten; line++ {
		at += bytes.IndexByte(all[at:end], '\n') + 1
		if asWritten = whose(slices.Concat(all[:at], last)) == ours; asWritten {
			end = at
		}
	}
	d.block[1] = d.block[0] + end
	own, _ = tomlValues(slices.Concat(all[:end], last)) // what is none has no server
	return own, asWritten
}

// server finds our server: that of the block, else one of a name of ours.
func (d *tomlDoc) server(own map[string]any) map[string]any {
	all, _ := d.values["mcp_servers"].(map[string]any)
	mine, _ := own["mcp_servers"].(map[string]any)
	names := slices.Sorted(maps.Keys(all))
	slices.Reverse(names) // one with characters at its end before one without
	for _, name := range append(slices.Sorted(maps.Keys(mine)), names...) {
		table, _ := all[name].(map[string]any)
		command, _ := table["command"].(string)
		list, _ := table["args"].([]any)
		var args []string
		for _, a := range list {
			s, _ := a.(string)
			args = append(args, s)
		}
		c, r := readArguments(command, args)
		if c = ourName(name, c, r); table != nil && c != foreign {
			d.name, d.claim, d.run = name, c, r
			return table
		}
	}
	return nil
}

func (f tomlForm) look(src []byte) (seen, error) {
	d, err := parseTOML(src)
	if err != nil {
		return seen{}, err
	}
	s := seen{binary: d.run.binary, profile: d.run.profile, tools: d.run.tools, server: d.name}
	switch d.claim {
	case foreign:
		s.missing = []string{f.label}
	case edited:
		s.edited = []string{f.label}
		fallthrough
	default:
		s.present = []string{f.label}
	}
	return s, nil
}

func (f tomlForm) install(src []byte, exists, force bool) (result, error) {
	d, err := parseTOML(src)
	if err != nil {
		return result{}, err
	}
	if d.claim == edited && !force {
		return result{text: src, exists: exists, edited: []string{f.label}}, nil
	}
	if d.claim == edited && d.block == nil {
		return result{}, fmt.Errorf("mcp_servers.%s was written by hand; take it out, and run setup again (nothing was written)", d.name)
	}
	nl := "\n"
	if at := bytes.IndexByte(src, '\n'); at > 0 && src[at-1] == '\r' {
		nl = "\r\n"
	}
	block := strings.ReplaceAll(summed(f.body(d)), "\n", nl)
	var out []byte
	switch {
	case d.block != nil:
		at := strings.LastIndex(block, "# <<<")
		out = slices.Concat(src[:d.block[0]], []byte(block[:at]), src[d.block[1]:])
	case len(bytes.TrimPrefix(src, bom)) == 0 && exists:
		out = append(append(out, src...), strings.TrimSuffix(block, nl)...)
	case !exists:
		out = []byte(block)
	default:
		out = append(append(append(out, src...), nl...), block...)
	}
	now, err := parseTOML(out)
	_, taken := d.values["mcp_servers"]
	if err != nil || taken && tomlInline().Match(src) || now.claim != ours || !reflect.DeepEqual(d.others(), now.others()) {
		return result{}, errors.New("a table [mcp_servers.engram] cannot stand at the end of this file, perhaps because mcp_servers is written in one line there; write its entries as [mcp_servers.NAME] tables and run setup again (nothing was written)")
	}
	return result{text: out, exists: true}, nil
}

func (f tomlForm) remove(src []byte, exists, force bool) (result, error) {
	out := result{text: src, exists: exists}
	d, err := parseTOML(src)
	if err != nil {
		return result{}, err
	}
	if d.claim == foreign {
		return out, nil
	}
	if d.claim == edited && (!force || d.block == nil) {
		out.edited = []string{f.label}
		return out, nil
	}
	before, behind := src[:d.block[0]], slices.Concat(src[d.block[1]:d.last[0]], src[d.last[1]:])
	if len(before) == 0 && len(behind) == 0 && bytes.HasSuffix(src, []byte("\n")) {
		return result{}, nil
	}
	if rest, cut := bytes.CutSuffix(before, []byte("\n")); cut {
		rest = bytes.TrimSuffix(rest, []byte("\r"))
		if len(behind) == 0 || bytes.HasSuffix(rest, []byte("\n")) {
			before = rest // else what follows would stand on the line before it
		}
	}
	out.text = append(append([]byte{}, before...), behind...)
	now, err := parseTOML(out.text)
	if err == nil && now.claim != foreign {
		return result{}, errors.New("tables below [mcp_servers.engram] stand elsewhere in the file; take them out by hand and run setup again (nothing was written)")
	}
	if err != nil || !reflect.DeepEqual(d.others(), now.others()) {
		return result{}, errors.New("our table [mcp_servers.engram] cannot be taken out without changing others; take it out by hand (nothing was written)")
	}
	return out, nil
}

// others are a document's values without ours.
func (d *tomlDoc) others() map[string]any {
	rest := maps.Clone(d.values)
	if d.mutes {
		delete(rest, "memories")
	}
	if servers, ok := rest["mcp_servers"].(map[string]any); ok {
		kept := maps.Clone(servers)
		delete(kept, d.name)
		if rest["mcp_servers"] = kept; len(kept) == 0 {
			delete(rest, "mcp_servers")
		}
	}
	return rest
}
