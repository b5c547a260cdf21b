package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/agent/session"
	"engramd/internal/e2e/golden"

	"engramd/internal/agent/mcp/aside"
)

// offer is everything that a client is told about a server.
type offer struct {
	Server       *sdk.Implementation     `json:"server"`
	Capabilities *sdk.ServerCapabilities `json:"capabilities"`
	Instructions []string                `json:"instructions"` // by line
	Tools        []*sdk.Tool             `json:"tools"`
	Resources    []*sdk.Resource         `json:"resources"`
	Templates    []*sdk.ResourceTemplate `json:"resourceTemplates"`
	Prompts      []*sdk.Prompt           `json:"prompts"`
}

func offered(t *testing.T, o options) offer {
	t.Helper()
	o.Memory, o.Contracts, o.Proposals = newFake(), &fakeContracts{}, &fakeProposals{}
	o.Snapshot = func(context.Context, string) (session.Snapshot, error) { return session.Snapshot{}, session.ErrNothing }
	o.Why = neverTold
	p := connect(t, newServer(o))
	init := p.InitializeResult()
	tools, err1 := p.ListTools(t.Context(), nil)
	resources, err2 := p.ListResources(t.Context(), nil)
	templates, err3 := p.ListResourceTemplates(t.Context(), nil)
	prompts, err4 := p.ListPrompts(t.Context(), nil)
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return offer{Server: init.ServerInfo, Capabilities: init.Capabilities, Instructions: strings.Split(init.Instructions, "\n"),
		Tools: tools.Tools, Resources: resources.Resources, Templates: templates.ResourceTemplates, Prompts: prompts.Prompts}
}

// TestGoldenOffer compares what a model reads with golden files, one for each kind
// of server, which names its tools, and one for each tool: a change of it is a change
// of behaviour. A tool that is another in another kind of server has a second file.
func TestGoldenOffer(t *testing.T) {
	offers, tools := map[string]string{}, map[string]string{}
	for _, o := range []struct {
		name string
		options
	}{{"agent", options{Mind: anyMind()}}, {"memory", options{}}, {"owner", options{ReadOnly: true}}, {"all", options{Mind: anyMind(), Each: true}}} {
		all := offered(t, o.options)
		names := []string{}
		for _, tool := range all.Tools {
			names = append(names, tool.Name)
			text := indented(t, tool)
			if plain := tools[tool.Name+".json"]; plain == "" {
				tools[tool.Name+".json"] = text
			} else if plain != text {
				tools[tool.Name+"."+o.name+".json"] = text
			}
		}
		offers[o.name+".json"] = indented(t, struct {
			offer
			Tools []string `json:"tools"`
		}{all, names})
	}
	golden.Folder(t, "testdata/offers", offers)
	golden.Folder(t, "testdata/tools", tools)
}

// TestKept: where each relay promises history only memory_delete destroys anything.
func TestKept(t *testing.T) {
	for _, kept := range []bool{false, true} {
		all := offered(t, options{Mind: anyMind(), Kept: func(context.Context) bool { return kept }})
		for _, tool := range all.Tools {
			d := tool.Annotations.DestructiveHint
			if want := tool.Name == "memory_delete" || tool.Name == "contract_move"; tool.Name != aside.More && d != nil && *d != want && (kept || want) {
				t.Errorf("kept %v: %s: destructiveHint is %v", kept, tool.Name, *d)
			}
		}
	}
}

func indented(t *testing.T, v any) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTools: the properties that every tool needs so that a model can use it.
func TestTools(t *testing.T) {
	writes := map[string]*sdk.ToolAnnotations{
		"memory_write": {}, aside.More: {}, aside.Proposal: {IdempotentHint: true}, "memory_append": {}, "memory_note": {}, "memory_edit": {}, "memory_rename": {}, "memory_link": {IdempotentHint: true}, "memory_delete": {IdempotentHint: true}, "memory_restore": {}, "memory_snapshot": {}, "memory_accept": {IdempotentHint: true}, "memory_reject": {IdempotentHint: true},
		"memory_intend": {}, "memory_done": {}, "memory_feedback": {},
		"mind_commit": {}, "mind_undo": {IdempotentHint: true},
		"contract_new": {}, "contract_move": {IdempotentHint: true}, "contract_say": {},
	}
	for _, o := range []options{{}, {Mind: anyMind()}, {Mind: anyMind(), Each: true}, {ReadOnly: true}, {ReadOnly: true, Mind: anyMind()}} {
		all := offered(t, o)
		if text := strings.Join(all.Instructions, "\n"); !strings.Contains(text, "data") || len(text) > maxInstructions {
			t.Errorf("instructions of %d bytes", len(text))
		}
		for _, tool := range all.Tools {
			a, w := tool.Annotations, writes[tool.Name]
			if tool.Name == aside.More && o.ReadOnly {
				w = nil
			}
			switch {
			case a == nil || (a.DestructiveHint == nil) != a.ReadOnlyHint:
				t.Errorf("%s: hints are missing or wrong", tool.Name)
			case a.ReadOnlyHint != (w == nil):
				t.Errorf("%s: readOnlyHint is %v", tool.Name, a.ReadOnlyHint)
			case w != nil && *a.DestructiveHint != (!slices.Contains([]string{"memory_append", "memory_note", "memory_intend", "memory_feedback", "memory_snapshot", "contract_new", "contract_say"}, tool.Name)):
				t.Errorf("%s: destructiveHint is %v", tool.Name, *a.DestructiveHint)
			case (a.OpenWorldHint == nil) != (w != nil && (tool.Name == "memory_accept" || tool.Name == aside.Proposal || strings.HasPrefix(tool.Name, "contract_"))) || a.OpenWorldHint != nil && *a.OpenWorldHint:
				t.Errorf("%s: openWorldHint is %v", tool.Name, a.OpenWorldHint)
			case a.IdempotentHint != (w != nil && w.IdempotentHint):
				t.Errorf("%s: idempotentHint is %v", tool.Name, a.IdempotentHint)
			case w != nil && o.ReadOnly:
				t.Errorf("%s is for owners too", tool.Name)
			}
			if w == nil && !strings.Contains(tool.Description, "data") {
				t.Errorf("%s gives out texts and does not say that they are data", tool.Name)
			}
			if len(tool.Description) < 50 || len(tool.Description) > 1024 || (tool.Title == "") != (!o.Each && !strings.HasPrefix(tool.Name, "contract_") || tool.Name == aside.More || tool.Name == aside.Proposal) {
				t.Errorf("%s: %d bytes of description, title %q", tool.Name, len(tool.Description), tool.Title)
			}
			stands := tool.Name == aside.More || tool.Name == aside.Proposal || tool.Name == aside.Commit && !o.Each
			if stands != (tool.OutputSchema == nil) {
				t.Errorf("%s: output schema %v", tool.Name, tool.OutputSchema)
			}
			for i, schema := range []any{tool.InputSchema, tool.OutputSchema} {
				if schema == nil {
					continue
				}
				s := decode[struct {
					Type       string
					Properties map[string]struct{ Description string }
					Additional any `json:"additionalProperties"`
				}](t, schema)
				if s.Type != "object" || (s.Additional == nil) != (i == 0) { // TestOtherArguments checks inputs
					t.Errorf("%s: schema %v", tool.Name, schema)
				}
			}
		}
	}
}

// TestOfferFits: the default offer costs a client little, and none of it is
// cut.
func TestOfferFits(t *testing.T) {
	var sizes []string
	for name, o := range map[string]options{"memory": {Memory: newFake()}, "both": {Memory: newFake(), Contracts: &fakeContracts{}},
		"owner": {Memory: newFake(), ReadOnly: true}, "contracts": {Contracts: &fakeContracts{}}, "agent": {Memory: newFake(), Mind: anyMind()}} {
		o.Snapshot = func(context.Context, string) (session.Snapshot, error) { return session.Snapshot{}, session.ErrNothing }
		if o.Memory != nil {
			o.Proposals = &fakeProposals{}
		}
		p := connect(t, newServer(o))
		words := p.InitializeResult().Instructions
		if len(words) > maxInstructions {
			t.Errorf("%s: instructions of %d bytes", name, len(words))
		}
		if rules := strings.Index(words, "Only not_found and removed"); rules < 0 || rules > 700 {
			t.Errorf("%s: the rules begin at %d", name, rules)
		}
		if strings.Contains(words, "contract_") != (o.Contracts != nil) {
			t.Errorf("%s: the instructions are not about the tools that there are", name)
		}
		tools, err := p.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools.Tools {
			tool.OutputSchema = nil // harnesses keep these from the model
			one, _ := json.Marshal(tool)
			sizes = append(sizes, fmt.Sprintf("%s %d", tool.Name, len(one)))
		}
		all, err := json.Marshal(tools)
		if most := map[string]int{"memory": maxTools, "agent": maxTools}[name]; err != nil || most > 0 && len(all) > most {
			t.Errorf("tools/list of %s has %d bytes, %v: %v", name, len(all), err, sizes)
		}
		t.Logf("%s: instructions %d bytes, tools/list %d bytes without output schemas", name, len(words), len(all))
	}
}

// TestInstructionsFit: in every combination of tools the instructions are
// short, and mention only the tools that exist.
func TestInstructionsFit(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	for _, mind := range []*Mind{nil, anyMind(), {Alone: true, Plans: anyMind().Plans}} {
		for _, files := range []Files{NoFiles, FilesBeside, FilesAlone} {
			for _, contracts := range []Contracts{nil, &fakeContracts{}} {
				for _, owner := range []bool{false, true} {
					project := "mem/projects/github-com/" + strings.Repeat("x", 40) + "/atlas-1a2b3c4d"
					words := connect(t, newServer(options{Memory: newFake(), Mind: mind, Files: files, Contracts: contracts, ReadOnly: owner, Project: project})).InitializeResult().Instructions
					name := fmt.Sprintf("mind %v, files %v, contracts %v, owner %v", mind, files, contracts != nil, owner)
					if len(words) > maxInstructions {
						t.Errorf("%s: %d bytes", name, len(words))
					}
					if notes := strings.Contains(words, "One topic, one memory"); strings.Contains(words, project+"/decisions for this project.") != notes {
						t.Errorf("%s: which project it is: %s", name, words)
					}
					if strings.Contains(words, "mind_") != (mind != nil && !owner) || strings.Contains(words, "contract_") != (contracts != nil && !owner) {
						t.Errorf("%s: the instructions are about other tools: %s", name, words)
					}
				}
			}
		}
	}
	if words := connect(t, newServer(options{Memory: newFake(), Project: "mem/projects/" + strings.Repeat("x", 600)})).InitializeResult().Instructions; len(words) > maxInstructions {
		t.Errorf("with a long project: %d bytes", len(words))
	}
}

const (
	// maxTools bounds what clients take, with the hints that the program itself leaves
	// out (TestToolsAreFew): tools are in every context.
	maxTools = 6400

	docsPath  = "../../../docs/mcp.md"
	docsBegin = "<!-- generated: make generate -->\n"
	docsEnd   = "<!-- end -->\n"
)

// TestGoldenDocs: the tables in docs/mcp.md are generated from the server's offer.
func TestGoldenDocs(t *testing.T) {
	_, after := golden.Part(t, docsPath, docsBegin, docsEnd, tables(offered(t, options{Mind: anyMind()}), offered(t, options{}), offered(t, options{ReadOnly: true}), offered(t, options{Mind: anyMind(), Each: true})))
	for _, code := range codes() {
		if !strings.Contains(after, "| `"+code+"` | ") {
			t.Errorf("the code %s is not in the table of %s", code, docsPath)
		}
	}
}

func codes() []string {
	return []string{CodeInvalid, CodeNotFound, CodeRemoved, CodePartial, CodeUnreadable, CodeConflict, CodeClock, CodeUnconfirmed, CodeUnreachable,
		CodeKeyRefused, CodeRefused, CodeTooLarge, CodeEmpty, CodeSecret, CodePlaceholder, CodeMatch, CodeReserved, CodeClaim, CodeCore, CodeNoAPI, CodeReadOnly, CodeBusy, CodeCancelled, CodeInternal}
}

// tables returns the generated part of the page.
func tables(agent, plain, owner, every offer) string {
	forOwner, forAll, each := map[string]bool{}, map[string]bool{}, map[string]*sdk.Tool{}
	for _, tool := range every.Tools {
		each[tool.Name] = tool
	}
	for _, tool := range owner.Tools {
		forOwner[tool.Name] = true
	}
	for _, tool := range plain.Tools {
		forAll[tool.Name] = true
	}
	var b strings.Builder
	b.WriteString("| tool | for | arguments | what |\n|---|---|---|---|\n")
	for _, tool := range agent.Tools {
		who := "agent"
		if forOwner[tool.Name] {
			who = "agent, owner"
		}
		if !forAll[tool.Name] {
			who = "agent, with `mind`"
		}
		first, _, _ := strings.Cut(tool.Description, ". ")
		if tool.Name == aside.More {
			first = "What is seldom needed, by `action`: the next table"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s. |\n", tool.Name, who, arguments(each[tool.Name]), strings.TrimSuffix(first, "."))
	}
	b.WriteString("\n| call | with `--tools all` | its arguments there | what |\n|---|---|---|---|\n")
	for _, a := range aside.All {
		first, _, _ := strings.Cut(each[a.Tool].Description, ". ")
		fmt.Fprintf(&b, "| `%s` with `%s: %s` | `%s` | %s | %s. |\n", a.By, a.With, a.Value, a.Tool, arguments(each[a.Tool]), strings.TrimSuffix(first, "."))
	}
	b.WriteString("\n| resource, prompt | what |\n|---|---|\n")
	for _, r := range agent.Resources {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.URI, r.Description)
	}
	for _, r := range agent.Templates {
		fmt.Fprintf(&b, "| `%s` | %s |\n", r.URITemplate, r.Description)
	}
	for _, p := range agent.Prompts {
		fmt.Fprintf(&b, "| prompt `%s` | %s |\n", p.Name, p.Description)
	}
	return b.String()
}

// arguments lists a tool's arguments; those in brackets may be left out.
func arguments(tool *sdk.Tool) string {
	// Only the JSON of the schema keeps their order.
	raw, _ := json.Marshal(tool.InputSchema)
	in := struct {
		Properties json.RawMessage
		Required   []string
	}{}
	_ = json.Unmarshal(raw, &in)
	required := map[string]bool{}
	for _, name := range in.Required {
		required[name] = true
	}
	var names map[string]any
	_ = json.Unmarshal(in.Properties, &names)
	var out []string
	for _, name := range []string{"slug", "contract_id", "id", "session", "prompt", "reason", "mode", "undo", "expires", "as", "seed", "description", "worker", "amount_sats", "deadline", "arbitrator", "decider", "expirer", "status", "note", "content", "type", "visibility",
		"author", "attachments", "with", "poster", "query", "old_str", "new_str", "verdict", "slugs", "plan", "operations", "force", "occurrence", "from", "to", "relation", "strength", "remove", "mend_links", "text", "due", "every", "trigger", "where", "action", "base", "version", "tags", "salience", "supersedes", "trust", "allow_placeholder", "allow_secret", "prefix", "after", "last", "offset", "max_bytes", "budget_bytes", "types", "since", "until", "emotion", "links", "min_trust", "states", "all_projects", "detail", "limit", "label"} {
		if _, ok := names[name]; !ok {
			continue
		}
		delete(names, name)
		if required[name] {
			out = append(out, "`"+name+"`")
		} else {
			out = append(out, "[`"+name+"`]")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		out = append(out, "?"+name) // the list above lacks it
	}
	return strings.Join(out, " ")
}
