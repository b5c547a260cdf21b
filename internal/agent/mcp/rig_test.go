package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/testkeys"
	"engramd/nips/nipae"
)

// patience is how long a test waits for an expected event.
const patience = 2 * time.Minute

func who(t testing.TB, name string) client.Identity {
	t.Helper()
	id, err := client.NewIdentity(testkeys.New(name).Secret)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// agentAt returns the memory of "agent" for "owner" on relays, as the agent's
// client.
func agentAt(t testing.TB, relays ...string) *memory.Memory {
	t.Helper()
	c := client.New(who(t, "agent"), client.Options{Relays: relays, Timeout: patience / 2})
	t.Cleanup(c.Close)
	m, err := memory.AsAgent(c, who(t, "owner").PubKey())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// ownerAt returns the same memory as the owner's client.
func ownerAt(t testing.TB, relays ...string) *memory.Memory {
	t.Helper()
	c := client.New(who(t, "owner"), client.Options{Relays: relays, Timeout: patience / 2})
	t.Cleanup(c.Close)
	m, err := memory.AsOwner(c, who(t, "agent").PubKey())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// peer is a client of the SDK that is connected to a server.
type peer struct {
	t testing.TB
	*sdk.ClientSession
}

// connect connects a client to a server in memory.
func connect(t testing.TB, s *Server) peer {
	t.Helper()
	ours, theirs := sdk.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, ours) }()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		cancel()
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("serve: %v", err)
			}
		case <-time.After(patience):
			t.Error("the server does not end")
		}
	})
	return peer{t, session}
}

type args = map[string]any

// call calls a tool and fails the test on a protocol error. The text of a
// successful answer must match its data.
func (p peer) call(tool string, a args) *sdk.CallToolResult {
	p.t.Helper()
	res, err := p.CallTool(p.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		p.t.Fatalf("%s: protocol error: %v", tool, err)
	}
	if !res.IsError {
		var fromText any
		if err := json.Unmarshal([]byte(text(res)), &fromText); err != nil {
			p.t.Fatalf("%s: text is no JSON: %v", tool, err)
		}
		a, _ := json.Marshal(fromText)
		b, _ := json.Marshal(res.StructuredContent)
		if string(a) != string(b) {
			p.t.Fatalf("%s: text %s and data %s differ", tool, a, b)
		}
	}
	return res
}

// ask calls a tool that must succeed and decodes its answer.
func ask[Out any](p peer, tool string, a args) Out {
	p.t.Helper()
	res := p.call(tool, a)
	if res.IsError {
		p.t.Fatalf("%s %v: %s", tool, a, text(res))
	}
	return decode[Out](p.t, res.StructuredContent)
}

// refused calls a tool that must fail and returns the failure.
func (p peer) refused(tool string, a args) (Failure, string) {
	p.t.Helper()
	res := p.call(tool, a)
	if !res.IsError {
		p.t.Fatalf("%s %v succeeded: %s", tool, a, text(res))
	}
	if res.StructuredContent != nil {
		p.t.Errorf("%s: a failure with structured content, which cannot fit the schema", tool)
	}
	return decode[Failure](p.t, res.Meta[failureKey]), text(res)
}

func text(res *sdk.CallToolResult) string {
	var parts []string
	for _, c := range res.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func decode[Out any](t testing.TB, v any) (out Out) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fake is a memory in a map. The functions take precedence where they are set.
type fake struct {
	mu      sync.Mutex
	texts   map[nipae.Slug]string
	writes  int
	get     func(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error)
	listAll func(ctx context.Context) (memory.Listing, client.Status, error)
	set     func(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error)
	remove  func() (client.Entry, client.Status, error)
	others  memory.Others
	log     func(ctx context.Context, slug nipae.Slug) ([]memory.Version, client.Status, error)
	at      func(ctx context.Context, slug nipae.Slug, when memory.When) (client.Entry, client.Status, error)
	restore func(ctx context.Context, slug nipae.Slug, when memory.When, check func(old, text string) error) (client.Entry, client.Status, error)
}

func newFake() *fake { return &fake{texts: map[nipae.Slug]string{}} }

func entryOf(slug nipae.Slug, text string) client.Entry {
	return client.Entry{Slug: slug, Text: text, ID: strings.Repeat("ab", 32), CreatedAt: 1_700_000_000, Size: len(text), Hash: client.Hash(text)}
}

func (f *fake) Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	if f.get != nil {
		return f.get(ctx, slug)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	text, ok := f.texts[slug]
	if !ok {
		return client.Entry{}, client.Status{}, client.ErrNotFound
	}
	return entryOf(slug, text), client.Status{}, nil
}

func (f *fake) ListAll(ctx context.Context) (l memory.Listing, _ client.Status, _ error) {
	if f.listAll != nil {
		return f.listAll(ctx)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for slug, text := range f.texts {
		e := entryOf(slug, text)
		if slug.IsCore() {
			l.Core = &e
		} else {
			l.Memories = append(l.Memories, e)
		}
	}
	slices.SortFunc(l.Memories, func(a, b client.Entry) int { return strings.Compare(string(a.Slug), string(b.Slug)) })
	return l, client.Status{}, nil
}

func (f *fake) Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	if f.set != nil {
		return f.set(ctx, slug, text, o)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if o.Check != nil {
		if err := o.Check(f.texts[slug], text); err != nil {
			return client.Entry{}, client.Status{}, err
		}
	}
	f.texts[slug] = text
	f.writes++
	return entryOf(slug, text), client.Status{Published: []client.PublishStatus{{URL: "ws://one", Accepted: true}}}, nil
}

func (f *fake) Remove(_ context.Context, slug nipae.Slug, _ bool) (client.Entry, client.Status, error) {
	if f.remove != nil {
		return f.remove()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.texts, slug)
	return client.Entry{}, client.Status{}, nil
}

func (f *fake) RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error) {
	if e, _, err := f.Get(ctx, slug); err == nil && e.Hash != base {
		return e, client.Status{}, &client.ConflictError{Theirs: &e, Reason: "another text"}
	}
	return f.Remove(ctx, slug, false)
}

func (f *fake) Others(context.Context) (memory.Others, client.Status, error) {
	return f.others, client.Status{}, nil
}

func (f *fake) Log(ctx context.Context, slug nipae.Slug) ([]memory.Version, client.Status, error) {
	if f.log != nil {
		return f.log(ctx, slug)
	}
	return nil, client.Status{}, client.ErrNotFound
}

func (f *fake) At(ctx context.Context, slug nipae.Slug, when memory.When) (client.Entry, client.Status, error) {
	if f.at != nil {
		return f.at(ctx, slug, when)
	}
	return client.Entry{}, client.Status{}, client.ErrNotFound
}

func (f *fake) Restore(ctx context.Context, slug nipae.Slug, when memory.When, check func(old, text string) error) (client.Entry, client.Status, error) {
	if f.restore != nil {
		return f.restore(ctx, slug, when, check)
	}
	return client.Entry{}, client.Status{}, client.ErrNotFound
}

func callOf(tool string, a args) *sdk.CallToolParams {
	return &sdk.CallToolParams{Name: tool, Arguments: a}
}

func slugf(format string, a ...any) nipae.Slug { return nipae.Slug(fmt.Sprintf(format, a...)) }

// anyMind returns a Mind with every part set.
func anyMind() *Mind {
	return &Mind{Plans: func(string) Plans { return &fakePlans{} },
		Judge: func(context.Context, bool, []nipae.Slug) (int, error) { return 0, nil }}
}
