package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/agent/mcp/aside"
)

func namesOf(tools []*sdk.Tool) (names []string) {
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// listedOf are the tools of a server in order, without those for contracts.
func listedOf(t *testing.T, o options) []string {
	t.Helper()
	return slices.DeleteFunc(namesOf(offered(t, o).Tools), func(name string) bool { return strings.HasPrefix(name, "contract_") })
}

// TestLean: by default the agent's own tools are listed, and the two that need a person's
// word; each other one where it is asked for, and all can be called.
func TestLean(t *testing.T) {
	both := slices.Sorted(slices.Values(append(slices.Clone(OwnTools), aside.Proposal, aside.Commit)))
	every := slices.Clone(both)
	for _, a := range aside.All {
		every = append(every, a.Tool)
	}
	slices.Sort(every)
	for name, c := range map[string]struct {
		o    options
		want []string
	}{
		"default": {options{Mind: anyMind()}, both},
		"memory":  {options{}, slices.DeleteFunc(slices.Clone(both), func(name string) bool { return name == aside.Commit })},
		"all":     {options{Mind: anyMind(), Each: true}, every},
		"mind":    {options{Mind: &Mind{Alone: true, Plans: anyMind().Plans}}, []string{aside.More, aside.Commit}},
		"files":   {options{Files: FilesAlone}, []string{filesTool}},
		"owner":   {options{ReadOnly: true}, []string{"memory_list", aside.More, "memory_read", "memory_recall", "memory_search"}},
	} {
		if got := listedOf(t, c.o); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	p := connect(t, newServer(options{Memory: newFake(), Mind: anyMind(), Proposals: &fakeProposals{}, Why: neverTold}))
	for _, a := range aside.All {
		if _, err := p.CallTool(t.Context(), callOf(a.Tool, args{})); err != nil && a.Tool != "memory_snapshot" {
			t.Errorf("%s cannot be called: %v", a.Tool, err)
		}
	}
	for _, tool := range offered(t, options{Mind: anyMind()}).Tools {
		if (tool.Meta["anthropic/alwaysLoad"] == true) != slices.Contains([]string{"memory_recall", "memory_write", "memory_note"}, tool.Name) {
			t.Errorf("%s: _meta %v", tool.Name, tool.Meta)
		}
	}
}

// former are the tools that a person allowed before there was memory_more, those that say
// they destroy something left out, and those that write nothing.
var former = []string{"memory_append", "memory_done", "memory_edit", "memory_feedback", "memory_history", "memory_intend", "memory_link", "memory_list", "memory_note", "memory_proposals",
	"memory_read", "memory_recall", "memory_rename", "memory_restore", "memory_search", "memory_snapshot", "memory_stats", "memory_why", "memory_write", "mind_prepare", "mind_dream"}

// TestMoreReachesNothingElse: what a person allows reaches nothing that was not allowed
// before, and nothing that destroys, whatever the argument says.
func TestMoreReachesNothingElse(t *testing.T) {
	hints := map[string]*sdk.ToolAnnotations{}
	for _, tool := range offered(t, options{Mind: anyMind(), Each: true, Kept: func(context.Context) bool { return true }}).Tools {
		hints[tool.Name] = tool.Annotations
	}
	for _, a := range aside.All {
		if h := hints[a.Tool]; slices.Contains(OwnTools, a.By) && (!slices.Contains(former, a.Tool) || h.OpenWorldHint == nil || h.DestructiveHint != nil && *h.DestructiveHint) {
			t.Errorf("%s is reached through %s", a.Tool, a.By)
		}
	}
	for _, kept := range []bool{true, false} { // where no version is kept, a restore replaces for good
		for _, tool := range offered(t, options{Mind: anyMind(), Kept: func(context.Context) bool { return kept }}).Tools {
			if h := tool.Annotations; tool.Name == aside.More && (*h.DestructiveHint == kept || h.ReadOnlyHint || *h.OpenWorldHint) {
				t.Errorf("kept %v: %+v", kept, h)
			}
		}
	}
	m, f, made := newFake(), &fakeProposals{}, &fakePlans{}
	m.texts["mem/x"] = "kept"
	p := connect(t, newServer(options{Memory: m, Mind: &Mind{Plans: func(string) Plans { return made }}, Proposals: f, Contracts: &fakeContracts{}}))
	for name := range hints {
		if slices.Contains(former, name) {
			continue
		}
		for _, tool := range OwnTools {
			for with, value := range map[string]string{"action": name, "mode": strings.TrimPrefix(name, "memory_"), "undo": "true"} {
				res := p.call(tool, args{with: value, "slug": "x", "id": "0123456789", "plan": anyPlan})
				if !res.IsError {
					t.Errorf("%s with %s %s: %s", tool, with, value, text(res))
				}
			}
		}
	}
	if len(f.asked) > 0 || made.id != "" || m.texts["mem/x"] != "kept" {
		t.Errorf("%q, %q, %q", f.asked, made.id, m.texts)
	}
}

// TestAsidesAnswerAsBefore: a tool answers the same under its own name and under that of
// the tool that stands for it.
func TestAsidesAnswerAsBefore(t *testing.T) {
	given := map[string]args{
		"memory_append": {"slug": "a", "text": "more"}, "memory_history": {"slug": "a", "limit": 3}, "memory_restore": {"slug": "a", "id": "2026-01-31T12:00:00Z"},
		"memory_rename": {"slug": "a", "to": "c", "mend_links": true}, "memory_link": {"slug": "c", "to": "b", "as": "supports", "strength": 0.5},
		"memory_stats": {}, "memory_why": {"session": "s", "prompt": 3}, "memory_intend": {"text": "Water the plants.", "slug": "intentions/plants", "due": "2030-01-01T09:00:00Z"}, "memory_done": {"slug": "intentions/plants", "as": "cancel"},
		"memory_feedback": {"slug": "c", "as": "useful"}, "memory_proposals": {}, "memory_accept": {"id": "0123456789"}, "memory_reject": {"id": "0123456789", "reason": "no"},
		"mind_prepare": {"max_bytes": 32768}, "mind_dream": {}, "mind_undo": {"plan": anyPlan, "force": true}, "memory_snapshot": {},
	}
	chance := regexp.MustCompile(`"hash":"[0-9a-f]{64}"|, [0-9a-f]{8}"`) // whoever closes an intention is told apart by it
	run := func(call func(peer, aside.Aside) *sdk.CallToolResult) (all []string) {
		m := newFake()
		m.texts["mem/a"], m.texts["mem/b"] = "about [[mem/b]]", "x"
		p := unitServer(t, m, func(o *options) {
			o.Why = neverTold
			o.Mind, o.Proposals = &Mind{Plans: func(string) Plans { return &fakePlans{} }, Judge: anyMind().Judge}, &fakeProposals{}
		})
		for _, a := range aside.All {
			if a.Tool != "memory_snapshot" { // has a test of its own
				all = append(all, chance.ReplaceAllString(fmt.Sprintf("%s: %s", a.Tool, text(call(p, a))), ""))
			}
		}
		return append(all, chance.ReplaceAllString(fmt.Sprint(m.texts), ""))
	}
	own := run(func(p peer, a aside.Aside) *sdk.CallToolResult { return p.call(a.Tool, given[a.Tool]) })
	through := run(func(p peer, a aside.Aside) *sdk.CallToolResult {
		in := maps.Clone(given[a.Tool])
		in[a.With] = any(a.Value)
		switch a.Tool {
		case "mind_undo":
			in[a.With] = true
		case "memory_rename": // filled in by a model that fills in everything
			in["trigger"], in["text"], in["due"] = "", "", nil
		case "memory_append":
			in["description"], in["type"], in["expires"], in["tags"] = "", "", "", []string{}
		}
		return p.call(a.By, in)
	})
	for i, got := range through {
		if got != own[i] {
			t.Errorf("%s\nbut\n%s", got, own[i])
		}
		if strings.Contains(got, CodeInvalid) {
			t.Error(got)
		}
	}
}

// TestMoreSaysWhatItTakes: a call that no tool takes is told the actions, and the
// arguments of the one that was meant.
func TestMoreSaysWhatItTakes(t *testing.T) {
	p := unitServer(t, newFake(), func(o *options) { o.Mind = anyMind() })
	for _, c := range []struct {
		tool string
		in   args
		says []string
	}{
		{aside.More, args{"action": "explode"}, []string{"history (slug)", "rename (slug, to, mend_links)"}},
		{aside.More, args{}, []string{"history (slug)", "done (slug, as, until)"}},
		{aside.More, args{"action": "rename", "slug": "a", "where": "b"}, []string{"takes these arguments: slug, to, mend_links", "where", "history (slug)"}},
		{aside.More, args{"action": "RENAME", "slug": "a"}, []string{"takes these arguments: slug, to, mend_links", `'to'`}},
		{aside.More, args{"action": "memory_history", "slug": "a", "limit": "x"}, []string{"limit must be a whole number"}},
		{aside.Proposal, args{"action": "ask", "id": "x"}, []string{"accept (id); reject (id, reason)"}},
		{aside.Write, args{"slug": "a", "text": "b", "mode": "append", "tags": []string{"c"}}, []string{"memory_write with mode append takes these arguments: slug, text, base"}},
		{aside.Write, args{"slug": "a", "text": "b", "mode": "prepend"}, []string{"mode is replace or append"}},
		{aside.Commit, args{"plan": anyPlan}, []string{"operations is missing"}},
		{aside.Commit, args{"plan": anyPlan, "undo": true, "operations": []any{"x"}}, []string{"takes these arguments: plan, force"}},
	} {
		if c.tool == aside.Proposal {
			p = unitServer(t, newFake(), func(o *options) { o.Mind, o.Proposals = anyMind(), &fakeProposals{} })
		}
		f, words := p.refused(c.tool, c.in)
		for _, want := range c.says {
			if f.Code != CodeInvalid || !strings.Contains(words, want) {
				t.Errorf("%s %v: %q is not in %s", c.tool, c.in, want, words)
			}
		}
	}
	// Only what there is is offered.
	if _, words := unitServer(t, newFake(), nil).refused(aside.More, args{"action": "done", "slug": "x"}); strings.Contains(words, "done") || strings.Contains(words, "prepare") {
		t.Error(words)
	}
}

// TestSchemas: the listed arguments hold to what OpenAI's and Gemini's APIs take. Either
// refuses the whole request for one schema that it does not know.
func TestSchemas(t *testing.T) {
	kinds := []string{"string", "number", "integer", "boolean", "array", "object"}
	words := []string{"type", "description", "properties", "required", "items", "enum", "minimum", "maximum"}
	name := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	var check func(at string, schema map[string]any, depth int)
	check = func(at string, schema map[string]any, depth int) {
		kind, _ := schema["type"].(string)
		if !slices.Contains(kinds, kind) || depth > 5 {
			t.Errorf("%s: type %v at depth %d", at, schema["type"], depth)
		}
		for word := range schema {
			if !slices.Contains(words, word) {
				t.Errorf("%s: %s", at, word)
			}
		}
		properties, _ := schema["properties"].(map[string]any)
		if (kind == "object") != (len(properties) > 0) {
			t.Errorf("%s: %s with the properties %v", at, kind, properties)
		}
		required, _ := schema["required"].([]any)
		for _, one := range required {
			if properties[one.(string)] == nil {
				t.Errorf("%s: %v is required and not there", at, one)
			}
		}
		values, is := schema["enum"].([]any)
		for _, one := range values {
			if text, _ := one.(string); kind != "string" || text == "" {
				t.Errorf("%s: enum with %v", at, one)
			}
		}
		if is && len(values) == 0 {
			t.Errorf("%s: an empty enum", at)
		}
		items, _ := schema["items"].(map[string]any)
		if (kind == "array") != (items != nil) {
			t.Errorf("%s: %s of %v", at, kind, schema["items"])
		}
		if items != nil {
			check(at+"[]", items, depth+1)
		}
		for name, one := range properties {
			check(at+"."+name, one.(map[string]any), depth+1)
		}
		if text, _ := schema["description"].(string); len(text) > 1024 {
			t.Errorf("%s: a description of %d bytes", at, len(text))
		}
	}
	for _, o := range []options{{Mind: anyMind(), Files: FilesBeside}, {}, {Mind: anyMind(), Each: true}, {ReadOnly: true}, {ReadOnly: true, Each: true}, {Mind: &Mind{Alone: true}}} {
		for _, tool := range offered(t, o).Tools {
			if !name.MatchString("mcp__engram-k3x9__"+tool.Name) || len(tool.Description) > 1024 {
				t.Errorf("%s: %d bytes of description", tool.Name, len(tool.Description))
			}
			if in := decode[map[string]any](t, tool.InputSchema); in["type"] != "object" {
				t.Errorf("%s: %v", tool.Name, in["type"])
			} else {
				check(tool.Name, in, 1)
			}
		}
	}
}

// TestTextsNameListedTools: what an agent is told names only tools that are listed by
// default. The tools' own names, and the table of asides, are the only others.
func TestTextsNameListedTools(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	named := regexp.MustCompile(`\b(?:memory|mind)_[a-z]+\b`)
	listed := listedOf(t, options{Mind: anyMind()})
	other := func(line string) (names []string) {
		for _, name := range named.FindAllString(line, -1) {
			if slices.ContainsFunc(aside.All, func(a aside.Aside) bool { return a.Tool == name }) && !slices.Contains(listed, name) {
				names = append(names, name)
			}
		}
		return names
	}
	const root = "../../../"
	files := 0
	for _, at := range []string{"internal/agent", "internal/memory", "internal/cli", "packaging/assets", "docs", "README.md", "ARCHITECTURE.md", "cmd/engramctl/testdata/hook"} {
		err := filepath.WalkDir(filepath.Join(root, at), func(path string, d os.DirEntry, err error) error {
			slash := filepath.ToSlash(path)
			if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || strings.Contains(slash, "/mcp/testdata/") || strings.HasSuffix(slash, "aside/aside.go") || strings.HasSuffix(slash, "docs/mcp.md") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files++
			for n, line := range strings.Split(string(text), "\n") {
				if names := other(line); len(names) > 0 && !strings.Contains(line, "add(s, \""+names[0]+`"`) {
					t.Errorf("%s:%d names %q", slash, n+1, names)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("only %d files were looked at", files)
	}
	for _, o := range []options{{}, {Mind: anyMind()}, {ReadOnly: true}, {Mind: anyMind(), Files: FilesBeside}} {
		all, _ := json.Marshal(offered(t, o))
		if names := other(string(all)); len(names) > 0 {
			t.Errorf("the offer names %q", names)
		}
	}
}
