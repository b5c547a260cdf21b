package harness

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// tomlForm is Codex's config.toml with a table of ours, between two comments,
// at its end. The newline before it belongs to it.
type tomlForm struct {
	body string // with sumPlace in its first comment
	name string
}

var tomlBlock = regexp.MustCompile(`(?m)^# >>> engram, ` + sumPlace + `[0-9a-f]{12}(?s:.*?)^# <<< engram\r?$\n?`)

// tomlInline is mcp_servers in one line, which no table may add to. Our decoder
// would allow it, Codex's does not.
var tomlInline = regexp.MustCompile(`(?m)^[ \t]*["']?mcp_servers["']?[ \t]*=`)

func codexTable(e Entry) tomlForm {
	args := make([]string, 0, 5)
	for _, a := range arguments(e) {
		args = append(args, tomlText(a.(string)))
	}
	return tomlForm{name: "mcp", body: "# >>> engram, " + sumPlace + "\n" +
		"[mcp_servers." + entryName + "]\n" +
		"command = " + tomlText(e.Binary) + "\n" +
		"args = [" + strings.Join(args, ", ") + "]\n" +
		"# <<< engram\n"}
}

// tomlText quotes a text. JSON's escapes are all TOML's too.
func tomlText(s string) string { return strings.ReplaceAll(quote(s), "\x7f", `\u007f`) }

// tomlDoc is what a document means, and where ours stands in it.
type tomlDoc struct {
	values map[string]any
	block  []int // nil if there is none
	claim  claim
	run    run
}

func parseTOML(src []byte) (*tomlDoc, error) {
	d := &tomlDoc{}
	text := bytes.TrimPrefix(src, bom)
	if err := toml.Unmarshal(text, &d.values); err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return nil, fmt.Errorf("line %d, column %d: %s; correct it and run setup again (nothing was written)", at.Position.Line, at.Position.Col, at.Message)
		}
		return nil, fmt.Errorf("this is no TOML (%w); correct it and run setup again (nothing was written)", err)
	}
	servers, _ := d.values["mcp_servers"].(map[string]any)
	table, there := servers[entryName].(map[string]any)
	if !there {
		return d, nil
	}
	command, _ := table["command"].(string)
	all, _ := table["args"].([]any)
	var args []string
	for _, a := range all {
		s, _ := a.(string)
		args = append(args, s)
	}
	d.claim, d.run = readArguments(command, args)
	if d.block = tomlBlock.FindIndex(text); d.block == nil {
		d.claim = edited
		return d, nil
	}
	block := append(bytes.Clone(bytes.TrimRight(text[d.block[0]:d.block[1]], "\r\n")), '\n')
	d.block[0] += len(src) - len(text)
	d.block[1] += len(src) - len(text)
	if len(table) != 2 || whose(block) != ours {
		d.claim = edited // Codex itself adds tables for tools that a person allowed
	}
	return d, nil
}

func (f tomlForm) look(src []byte) (seen, error) {
	d, err := parseTOML(src)
	if err != nil {
		return seen{}, err
	}
	s := seen{binary: d.run.binary, profile: d.run.profile, tools: d.run.tools}
	switch d.claim {
	case foreign:
		s.missing = []string{f.name}
	case edited:
		s.edited = []string{f.name}
		fallthrough
	default:
		s.present = []string{f.name}
	}
	return s, nil
}

func (f tomlForm) install(src []byte, exists, force bool) (result, error) {
	d, err := parseTOML(src)
	if err != nil {
		return result{}, err
	}
	if d.claim == edited && !force {
		return result{text: src, exists: exists, edited: []string{f.name}}, nil
	}
	if d.claim == edited && d.block == nil {
		return result{}, fmt.Errorf("mcp_servers.%s was written by hand; take it out, and run setup again (nothing was written)", entryName)
	}
	nl := "\n"
	if at := bytes.IndexByte(src, '\n'); at > 0 && src[at-1] == '\r' {
		nl = "\r\n"
	}
	block := strings.ReplaceAll(summed(f.body), "\n", nl)
	var out []byte
	switch {
	case d.block != nil:
		tail := src[d.block[1]:]
		if len(tail) == 0 && src[d.block[1]-1] != '\n' {
			block = strings.TrimSuffix(block, nl)
		}
		out = append(append(append(out, src[:d.block[0]]...), block...), tail...)
	case len(bytes.TrimPrefix(src, bom)) == 0 && exists:
		out = append(append(out, src...), strings.TrimSuffix(block, nl)...)
	case !exists:
		out = []byte(block)
	default:
		out = append(append(append(out, src...), nl...), block...)
	}
	now, err := parseTOML(out)
	_, taken := d.values["mcp_servers"]
	if err != nil || taken && tomlInline.Match(src) || now.claim != ours || !reflect.DeepEqual(others(d.values), others(now.values)) {
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
		out.edited = []string{f.name}
		return out, nil
	}
	before, behind := src[:d.block[0]], src[d.block[1]:]
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
	if err != nil || !reflect.DeepEqual(others(d.values), others(now.values)) {
		return result{}, errors.New("our table [mcp_servers.engram] cannot be taken out without changing others; take it out by hand (nothing was written)")
	}
	return out, nil
}

// others are a document's values without our table.
func others(values map[string]any) map[string]any {
	rest := map[string]any{}
	for name, v := range values {
		rest[name] = v
	}
	if servers, ok := values["mcp_servers"].(map[string]any); ok {
		kept := map[string]any{}
		for name, v := range servers {
			if name != entryName {
				kept[name] = v
			}
		}
		if rest["mcp_servers"] = kept; len(kept) == 0 {
			delete(rest, "mcp_servers")
		}
	}
	return rest
}
