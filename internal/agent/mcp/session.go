package mcp

import (
	"context"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/session"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/intentions"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// Session is the running agent, as the server needs it. *session.Live implements it;
// its documentation says what each method does.
type Session interface {
	Memory
	Writable() bool
	// CoreAbsent is Others where every relay says that it has no core: see
	// session.Memory.
	CoreAbsent(ctx context.Context) (memory.Others, client.Status, error)
	// Read and ReadAll are Get and ListAll for who only reads, and Writes is the memory for who reads a text in
	// order to change it.
	Read(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error)
	ReadAll(ctx context.Context) (memory.Listing, client.Status, error)
	Writes() write.Memory
	// Discovery finds out which relays to ask; nil leaves them as they are. The server
	// calls it before the first question and again from time to time, never while a
	// question is under way. Its error does not fail the call: the question that
	// follows has errors of its own.
	Discovery() func(ctx context.Context) error
	// Source is the local copy, which recall, search, lists and counts are answered
	// from; nil asks the relays each time. Settle waits for what makes one whole that
	// is not yet.
	Source() recallanswer.Source
	Settle(ctx context.Context)
	// Recaller recalls, once it has something to read. Recalled counts what was told of
	// it.
	Recaller() session.Recall
	Recalled(ctx context.Context, hits []recallanswer.Hit)
	// Used counts memories that were read, and Wrote a write that succeeded, with the
	// slugs that it was about.
	Used(ctx context.Context, slugs []string)
	Uses(ctx context.Context) (map[string]recallanswer.Use, error)
	Wrote(ctx context.Context, slugs []string)
	Similar(slug, text string) []recallanswer.Similar
	Copied(text string) (slug string, ok bool)
	// ID is stamped into what is written, "" for none.
	ID(ctx context.Context) string
	// Project is the slug of the memory of the folder's project; "" names none.
	Project() string
	Where(ctx context.Context) intentions.Place
	Scope(ctx context.Context) recallanswer.Scope
	// Fresh leaves it to the server which intentions the session was shown, where the
	// session is not known: then the server is the session.
	Fresh(ctx context.Context, items []intentions.Item, most int) (fresh []intentions.Item, known bool)
	Wake(ctx context.Context) briefing.Options
	// Proposals and Snapshots are nil where their tools are left out. The errors of a
	// snapshot are those of client.Client.Ask, client.ErrPartial, session.ErrNothing
	// and session.ErrInUse.
	Proposals() Proposals
	Snapshots() func(ctx context.Context, label string) (session.Snapshot, error)
}

var _ Session = (*session.Live)(nil)

// Proposals are what others want to be remembered, corrected or removed.
type Proposals = session.Proposals

// Memory is the memory that the server serves. *memory.Memory implements it;
// its documentation says which errors each method returns.
type Memory interface {
	Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error)
	ListAll(ctx context.Context) (memory.Listing, client.Status, error)
	Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error)
	Add(ctx context.Context, texts []memory.NewText) ([]memory.Added, error)
	Remove(ctx context.Context, slug nipae.Slug, overUnreadable bool) (client.Entry, client.Status, error)
	RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error)
	Others(ctx context.Context) (memory.Others, client.Status, error)
	Log(ctx context.Context, slug nipae.Slug) ([]memory.Version, client.Status, error)
	At(ctx context.Context, slug nipae.Slug, when memory.When) (client.Entry, client.Status, error)
	Restore(ctx context.Context, slug nipae.Slug, when memory.When, check func(old, text string) error) (client.Entry, client.Status, error)
}

var _ Memory = (*memory.Memory)(nil)
