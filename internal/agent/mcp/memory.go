package mcp

import (
	"context"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

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
