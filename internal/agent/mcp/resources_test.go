package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/agent/hook"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/quote"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

func TestResources(t *testing.T) {
	url := bridgetest.Start(t).URL
	p := connect(t, newServer(options{Memory: agentAt(t, url)}))
	long := strings.Repeat("long ", 10_000)
	ask[writeOut](p, "memory_write", args{"slug": "core", "text": "I am Sami."})
	made := ask[writeOut](p, "memory_write", args{"slug": "projects/atlas/plan", "text": long})
	for uri, want := range map[string]string{"engram://core": "I am Sami.", "engram://mem/projects/atlas/plan": long} {
		res, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatalf("%s: %v", uri, err)
		}
		got := res.Contents[0]
		if len(res.Contents) != 1 || frontmatter.Parse(got.Text).Body() != want || uri != coreURI && client.Hash(got.Text) != made.Hash || got.URI != uri || got.MIMEType != textType || res.CacheScope != "private" || res.TTLMs != 0 {
			t.Errorf("%s: %.100v", uri, got)
		}
		if uri != coreURI && got.Meta["engramd/hash"] != made.Hash {
			t.Errorf("%s: %v", uri, got.Meta)
		}
	}
	for uri, want := range map[string]string{
		"engram://mem/nothing": CodeNotFound, "engram://mem/No%20Slug": CodeInvalid, "engram://other": "",
	} {
		_, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
		if code, f := failureOf(t, err); code != jsonrpc.CodeInvalidParams || f.Code != want {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// TestUnreadableResources: their error differs from that of a missing resource.
func TestUnreadableResources(t *testing.T) {
	for _, failure := range []error{client.ErrNoRelay, client.ErrPartial, client.ErrUnreadable, client.ErrAuth} {
		p := connect(t, newServer(options{Memory: failing(failure, client.Status{})}))
		_, err := p.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: coreURI})
		if code, f := failureOf(t, err); code != jsonrpc.CodeInternalError || f.Code == "" || absence.MatchString(err.Error()) {
			t.Errorf("%v: %v", failure, err)
		}
		_, err = p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "core"})
		if code, f := failureOf(t, err); code != jsonrpc.CodeInternalError || f.Code == "" || absence.MatchString(err.Error()) {
			t.Errorf("prompt, %v: %v", failure, err)
		}
		if _, err := p.Complete(t.Context(), slugCompletion("")); err == nil {
			t.Errorf("completion, %v: no error", failure)
		}
	}
}

func TestCorePrompt(t *testing.T) {
	m := newFake()
	agent, owner := connect(t, newServer(options{Memory: m})), connect(t, newServer(options{Memory: m, ReadOnly: true}))
	prompt := func(p peer) string {
		t.Helper()
		res, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "core"})
		if err != nil || len(res.Messages) != 1 || res.Messages[0].Role != "user" {
			t.Fatalf("%v %v", res, err)
		}
		return res.Messages[0].Content.(*sdk.TextContent).Text
	}
	if got := prompt(agent); !strings.HasPrefix(got, sectionTitle) || !strings.Contains(got, "memory_write") {
		t.Errorf("without a core: %q", got)
	}
	if got := prompt(owner); strings.Contains(got, "memory_write") || !strings.Contains(got, "confirmed by every relay") {
		t.Errorf("without a core, for an owner: %q", got)
	}
	m.texts["core"] = "I am Sami."
	if got := prompt(agent); !strings.HasPrefix(got, sectionTitle) || !strings.HasSuffix(got, "\n"+quote.Notice+"| I am Sami.\n") {
		t.Errorf("with a core: %q", got)
	}
	m.get = func(context.Context, nipae.Slug) (client.Entry, client.Status, error) {
		return entryOf("core", "I am Sami."), downStatus(), nil
	}
	if got := prompt(agent); !strings.Contains(got, "I am Sami.") || !strings.HasSuffix(got, sectionPartial) {
		t.Errorf("with a core that may be old: %q", got)
	}
}

// TestWakePrompt: it begins with the whole core section and then what a hook
// would print, without others' texts, and without any of it unless the profile
// mind is on.
func TestWakePrompt(t *testing.T) {
	m := newFake()
	m.texts["core"] = "I am Sami."
	m.texts["mem/narrative"] = "I keep the boats."
	m.texts["mem/journal/boats"] = "---\ntype: episodic\n---\nSeven boats were counted."
	m.texts["mem/journal/eve"] = "---\ntype: episodic\ntrust: external\n---\nEve says: obey."
	m.texts["mem/intentions/mast"] = "---\ntype: prospective\ndue: 2020-01-01\n---\nAsk Bo about the mast."
	m.texts["mem/intentions/there"] = "---\ntype: prospective\nwhere: atlas\n---\nPaint the shed."
	m.texts["mem/projects/atlas"] = "Atlas is a chart of the harbour."
	m.texts["mem/projects/eve"] = "Eve's chart is another one."
	at := intentions.Place{}
	p := connect(t, newServer(options{Memory: m, Mind: anyMind(), Place: func(context.Context) intentions.Place { return at }}))
	said := func() string {
		res, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "wake"})
		if err != nil {
			t.Fatal(err)
		}
		return res.Messages[0].Content.(*sdk.TextContent).Text
	}
	for _, at = range []intentions.Place{{}, {Project: "atlas"}} {
		if got := said(); strings.Contains(got, "shed") || strings.Contains(got, "chart") {
			t.Errorf("at %+v of a project:\n%s", at, got)
		}
	}
	if at.Linked = true; !strings.Contains(said(), "Paint the shed.") || !strings.Contains(said(), "\n| Atlas is a chart of the harbour.\n") || strings.Contains(said(), "another one") {
		t.Errorf("in the project:\n%s", said())
	}
	if coming := ask[recallOut](p, "memory_recall", args{"query": "anything"}).Intentions; len(coming) > 0 {
		t.Errorf("what was told comes with recall again: %+v", coming)
	}
	at = intentions.Place{}
	res, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "wake"})
	if err != nil || len(res.Messages) != 1 {
		t.Fatalf("%v, %v", res, err)
	}
	got := res.Messages[0].Content.(*sdk.TextContent).Text
	for _, part := range []string{"I am Sami.\n\n[Agent Memory — narrative]\n" + quote.Notice + "| I keep the boats.\n", "Ask Bo about the mast.", "2 episodes are not consolidated: memory_more with action prepare shows them", "[Agent Memory — replay]\n", "Seven boats were counted."} {
		if !strings.HasPrefix(got, sectionTitle) || !strings.Contains(got, part) || strings.Contains(got, "Eve") {
			t.Errorf("want %q in\n%s", part, got)
		}
	}
	m.listAll = func(context.Context) (memory.Listing, client.Status, error) {
		return memory.Listing{}, downStatus(), client.ErrPartial
	}
	if res, err = p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "wake"}); err != nil || !strings.HasSuffix(res.Messages[0].Content.(*sdk.TextContent).Text, "I am Sami.\n\n"+hook.Unread().Text) {
		t.Errorf("where the rest cannot be had: %v, %v", res, err)
	}
	if _, err := connect(t, newServer(options{Memory: m})).GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "wake"}); err == nil {
		t.Error("without the profile mind there is the prompt")
	}
}

func TestCompletion(t *testing.T) {
	m := newFake()
	m.texts["core"] = "c"
	for _, slug := range []nipae.Slug{"mem/people/ana", "mem/people/bo", "mem/plan"} {
		m.texts[slug] = "x"
	}
	p := connect(t, newServer(options{Memory: m}))
	for typed, want := range map[string][]string{"": {"people/ana", "people/bo", "plan"}, "people/": {"people/ana", "people/bo"}, "x": {}} {
		res, err := p.Complete(t.Context(), slugCompletion(typed))
		if err != nil || !slices.Equal(res.Completion.Values, want) || res.Completion.HasMore {
			t.Errorf("%q: %v %v", typed, res, err)
		}
	}
	for i := range 150 {
		m.texts[slugf("mem/many/%03d", i)] = "x"
	}
	if res, err := p.Complete(t.Context(), slugCompletion("many")); err != nil || len(res.Completion.Values) != 100 || res.Completion.Total != 150 || !res.Completion.HasMore {
		t.Errorf("many: %v %v", res, err)
	}
	res, err := p.Complete(t.Context(), &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: "core"}, Argument: sdk.CompleteParamsArgument{Name: "x"}})
	if err != nil || len(res.Completion.Values) != 0 {
		t.Errorf("something else: %v %v", res, err)
	}
}

func slugCompletion(typed string) *sdk.CompleteParams {
	return &sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/resource", URI: memoryTemplate},
		Argument: sdk.CompleteParamsArgument{Name: "slug", Value: typed}}
}

// failureOf parses an error of the protocol.
func failureOf(t *testing.T, err error) (code int64, f Failure) {
	t.Helper()
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) {
		t.Errorf("no protocol error: %v", err)
		return 0, f
	}
	var data map[string]json.RawMessage
	if err := json.Unmarshal(wire.Data, &data); err != nil {
		t.Errorf("data %s: %v", wire.Data, err)
	}
	if raw, ok := data[failureKey]; ok {
		f = decode[Failure](t, raw)
	}
	return wire.Code, f
}
