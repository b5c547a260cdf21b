package mcp

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/session"
	"engramd/internal/agent/why"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/recall"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// options are those of a Server, with the parts of its session; nil are those that
// are not there.
type options struct {
	Memory    Memory
	Files     Files
	Mind      *Mind
	Contracts Contracts
	Snapshot  func(ctx context.Context, label string) (session.Snapshot, error)
	Copy      recallanswer.Source
	Settle    func(ctx context.Context)
	Absent    error // of CoreAbsent
	Near      session.Near
	Rerank    recallanswer.Scorer
	Used      func(ctx context.Context, read bool, slugs []string)
	Uses      func(ctx context.Context) (map[string]recallanswer.Use, error)
	Similar   func(slug, text string) []SimilarUnit
	Copied    func(text string) (string, bool)
	Session   string
	Current   func(ctx context.Context) string
	Wrote     func(ctx context.Context, slugs []string)
	Project   string
	Place     func(ctx context.Context) intentions.Place
	Fresh     func(ctx context.Context, items []intentions.Item, most int) ([]intentions.Item, bool)
	Scope     func(ctx context.Context) recallanswer.Scope
	Wake      func(ctx context.Context) briefing.Options
	Proposals Proposals
	Why       func(ctx context.Context, session string, prompt *int64) (why.Answer, error)
	ReadOnly  bool
	Kept      func(ctx context.Context) bool
	Each      bool
	Discover  func(ctx context.Context) error
	Version   string
	Timeout   time.Duration
	Clock     func() time.Time
	Log       *slog.Logger
}

// newServer returns a Server with those parts.
func newServer(o options) *Server {
	to := Options{Files: o.Files, Mind: o.Mind, Contracts: o.Contracts, Why: o.Why, Kept: o.Kept, Each: o.Each, Version: cmp.Or(o.Version, "dev"), Timeout: cmp.Or(o.Timeout, 30*time.Second), Clock: o.Clock,
		Log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	if o.Memory != nil {
		to.Session = parts{o.Memory, o}
	}
	return New(to)
}

// parts is a session made of them.
type parts struct {
	Memory
	o options
}

func (p parts) Writable() bool                             { return !p.o.ReadOnly }
func (p parts) Discovery() func(ctx context.Context) error { return p.o.Discover }
func (p parts) Source() recallanswer.Source                { return p.o.Copy }
func (p parts) CoreAbsent(ctx context.Context) (memory.Others, client.Status, error) {
	others, status, err := p.Others(ctx)
	return others, status, cmp.Or(p.o.Absent, err)
}

func (p parts) Project() string      { return p.o.Project }
func (p parts) Proposals() Proposals { return p.o.Proposals }

func (p parts) Snapshots() func(ctx context.Context, label string) (session.Snapshot, error) {
	return p.o.Snapshot
}

func (p parts) Read(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	return p.Get(ctx, slug)
}

func (p parts) ReadAll(ctx context.Context) (memory.Listing, client.Status, error) {
	return p.ListAll(ctx)
}

func (p parts) Writes() write.Memory { return p.Memory }

func (p parts) Settle(ctx context.Context) {
	if p.o.Settle != nil {
		p.o.Settle(ctx)
	}
}

func (p parts) Recaller() session.Recall {
	return session.Recall{Near: p.o.Near, Rerank: p.o.Rerank, Copy: p.o.Copy}
}

func (p parts) Recalled(ctx context.Context, hits []recallanswer.Hit) {
	var slugs []string
	for _, h := range hits {
		if h.Fit == recall.Strong {
			slugs = append(slugs, h.Slug)
		}
	}
	if p.o.Used != nil && len(slugs) > 0 {
		p.o.Used(ctx, false, slugs)
	}
}

func (p parts) Used(ctx context.Context, slugs []string) {
	if p.o.Used != nil {
		p.o.Used(ctx, true, slugs)
	}
}

func (p parts) Uses(ctx context.Context) (map[string]recallanswer.Use, error) {
	if p.o.Uses == nil {
		return nil, nil
	}
	return p.o.Uses(ctx)
}

func (p parts) Wrote(ctx context.Context, slugs []string) {
	if p.o.Wrote != nil {
		p.o.Wrote(ctx, slugs)
	}
}

func (p parts) Similar(slug, text string) (all []recallanswer.Similar) {
	if p.o.Similar == nil {
		return nil
	}
	for _, u := range p.o.Similar(slug, text) {
		all = append(all, recallanswer.Similar{Slug: u.Slug, Title: u.Title})
	}
	return all
}

func (p parts) Copied(text string) (string, bool) {
	if p.o.Copied == nil {
		return "", false
	}
	return p.o.Copied(text)
}

func (p parts) ID(ctx context.Context) string {
	if p.o.Current == nil {
		return p.o.Session
	}
	return cmp.Or(p.o.Current(ctx), p.o.Session)
}

func (p parts) Where(ctx context.Context) (at intentions.Place) {
	if p.o.Place != nil {
		at = p.o.Place(ctx)
	}
	return at
}

func (p parts) Scope(ctx context.Context) (in recallanswer.Scope) {
	if p.o.Scope != nil {
		in = p.o.Scope(ctx)
	}
	return in
}

func (p parts) Fresh(ctx context.Context, items []intentions.Item, most int) ([]intentions.Item, bool) {
	if p.o.Fresh == nil {
		return nil, false
	}
	return p.o.Fresh(ctx, items, most)
}

func (p parts) Wake(ctx context.Context) (o briefing.Options) {
	if p.o.Wake != nil {
		o = p.o.Wake(ctx)
	}
	return o
}
