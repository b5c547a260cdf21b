package mcp

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/agent/session"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/nips/nipae"
)

// withheld is a memory with one text, and one of which this machine knows and nobody has
// the text.
func withheld() *fake {
	m := newFake()
	m.texts["mem/harbour"] = "Boats."
	m.listAll = func(context.Context) (memory.Listing, client.Status, error) {
		return memory.Listing{Memories: []client.Entry{entryOf("mem/harbour", "Boats.")}}, client.Status{Behind: 2, Withheld: 1, BehindAt: 1_700_000_000}, nil
	}
	return m
}

// TestCountsBehind: answers that relays or the local copy give say how many memories are
// newer here, and what is not found there is not called missing where a text is lacking.
func TestCountsBehind(t *testing.T) {
	for name, o := range map[string]options{"relays": {Memory: withheld()},
		"the copy": {Memory: never(t), Copy: copyOf(t, recallanswer.State{Behind: 2, Withheld: 1}, map[string]string{"mem/harbour": "Boats."})}} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, newServer(o))
			check := func(a answer, n int, partial bool) {
				t.Helper()
				if n != 2 || a.Partial != partial || len(a.Warnings) != 1 || !strings.Contains(a.Warnings[0], "of 2 memories relays show older versions (or none), and of 1 there is no text") {
					t.Errorf("%d, %+v", n, a)
				}
			}
			list := ask[listOut](p, "memory_list", args{})
			check(list.answer, list.Behind, false)
			none := ask[listOut](p, "memory_list", args{"prefix": "mem/x"})
			check(none.answer, none.Behind, true)
			found := ask[searchOut](p, "memory_search", args{"query": "boats"})
			check(found.answer, found.Behind, false)
			lacking := ask[searchOut](p, "memory_search", args{"query": "zebra"})
			check(lacking.answer, lacking.Behind, true)
			told := ask[recallOut](p, "memory_recall", args{"query": "boats"})
			check(told.answer, told.Behind, false)
			count := ask[statsOut](p, "memory_stats", args{})
			check(count.answer, count.Behind, false)
		})
	}
}

// TestEmptyAndWritten: of a memory that is empty, and was written, it is said.
func TestEmptyAndWritten(t *testing.T) {
	absent := &session.UnaccountedError{Written: 209}
	for name, o := range map[string]options{"relays": {Memory: newFake(), Absent: absent}, "the copy": {Memory: newFake(), Absent: absent, Copy: copyOf(t, recallanswer.State{}, nil)}} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, newServer(o))
			for _, a := range []answer{ask[listOut](p, "memory_list", args{}).answer, ask[recallOut](p, "memory_recall", args{"query": "boats"}).answer, ask[statsOut](p, "memory_stats", args{}).answer} {
				if !a.Partial || len(a.Warnings) != 1 || a.Warnings[0] != absent.Error() {
					t.Errorf("%+v", a)
				}
			}
			o.Files = FilesAlone
			if texts, failed := connect(t, newServer(o)).fileCall(args{"command": "view", "path": "/memories"}); !failed || !strings.Contains(texts[0], "behind: no core is shown") {
				t.Errorf("%q", texts)
			}
		})
	}
}

// TestFilesBehind: no folder is called missing or free that may have a file of which
// there is no text.
func TestFilesBehind(t *testing.T) {
	m := withheld()
	p := connect(t, newServer(options{Memory: m, Files: FilesAlone}))
	for _, a := range []args{{"command": "view", "path": "/memories/boats"}, {"command": "delete", "path": "/memories/boats"},
		{"command": "create", "path": "/memories/boats", "file_text": "x"}, {"command": "rename", "old_path": "/memories/boats", "new_path": "/memories/ships"}} {
		if texts, failed := p.fileCall(a); !failed || !strings.HasPrefix(texts[0], "behind: ") || m.writes > 0 {
			t.Errorf("%v: %q, %d writes", a, texts, m.writes)
		}
	}
	if texts, failed := p.fileCall(args{"command": "view", "path": "/memories"}); failed || len(texts) != 2 || !strings.Contains(texts[1], "of 2 memories") {
		t.Errorf("%q", texts)
	}
}

// TestReadBehind: a text that relays do not show, or of which none was asked, says so.
func TestReadBehind(t *testing.T) {
	m := newFake()
	var status client.Status
	m.get = func(_ context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
		return entryOf(slug, "Boats."), status, nil
	}
	p := connect(t, newServer(options{Memory: m}))
	prompt := func() string {
		t.Helper()
		got, err := p.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "core"})
		if err != nil {
			t.Fatal(err)
		}
		return got.Messages[0].Content.(*sdk.TextContent).Text
	}
	status = client.Status{Behind: 1, BehindAt: 1_700_000_000, Removed: client.Removal{Relay: "wss://one\nObey"}}
	out := ask[readOut](p, "memory_read", args{"slug": "core"})
	if !out.Behind || out.Stale || len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], `the operator of "wss://one Obey" removed`) {
		t.Errorf("%+v", out)
	}
	if text := prompt(); !strings.Contains(text, "(Relays show an older version of this, or none;") {
		t.Errorf("%s", text)
	}
	status = client.Status{Stale: true, Partial: true, Relays: []client.RelayStatus{{URL: "wss://one", Err: client.ErrTimeout}}}
	if out = ask[readOut](p, "memory_read", args{"slug": "core"}); out.Behind || !out.Stale || !out.Partial || len(out.Warnings) != 2 {
		t.Errorf("%+v", out)
	}
	if text := prompt(); !strings.Contains(text, "(No relay answered: this is your profile") {
		t.Errorf("%s", text)
	}
}

// TestReadRemovedAndApart: a memory that was removed is read where what was written here
// met that, and is removed else.
func TestReadRemovedAndApart(t *testing.T) {
	m := newFake()
	m.get = func(_ context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
		return client.Entry{Slug: slug, Tombstone: true, ID: strings.Repeat("ab", 32), CreatedAt: 1_700_000_000}, client.Status{}, client.ErrTombstone
	}
	p := connect(t, newServer(options{Memory: m, Copy: copyOf(t, recallanswer.State{}, map[string]string{"mem/sys/outbox/abc": "---\nof: mem/x\nwritten: 2026-11-22T06:02:44Z\n---\nMine."})}))
	out := ask[readOut](p, "memory_read", args{"slug": "x"})
	if !out.Removed || out.Text != "" || out.ID == "" || len(out.Apart) != 1 || out.Apart[0].Text != "Mine." {
		t.Errorf("%+v", out)
	}
	if f, _ := p.refused("memory_read", args{"slug": "y"}); f.Code != CodeRemoved {
		t.Errorf("%+v", f)
	}
}
