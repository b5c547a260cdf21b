package files

import (
	"context"
	"errors"
	"sync"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/mem/edit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// folderMemory writes a folder's texts as mem set and mem rm do: byte for byte,
// with base, and not what says more of itself than it may, or has a secret.
type folderMemory struct {
	env   *cliutil.Env
	m     *session.Memory
	allow bool

	mu     sync.Mutex
	pace   pacer
	failed error         // the first that was refused
	status client.Status // of the last write that not all relays took
}

func newFolderMemory(r *folderRun) *folderMemory {
	return &folderMemory{env: r.Env, m: r.m, allow: r.Options.Allow, pace: pacer{now: time.Now, wait: pause}}
}

// Set implements folder.Memory.
func (w *folderMemory) Set(ctx context.Context, slug nipae.Slug, text, base string) (client.Entry, error) {
	if err := w.turn(ctx); err != nil {
		return client.Entry{}, err
	}
	o := memory.SetOptions{Base: base, Whole: base == memory.BaseNone, Check: edit.AsItStands(ctx, w.env, w.m, slug, cliutil.Guard(w.allow))}
	e, status, err := w.m.Set(ctx, slug, text, o)
	return e, w.noted(status, cliutil.About(slug, e, err))
}

// Remove implements folder.Memory. What is gone is gone.
func (w *folderMemory) Remove(ctx context.Context, slug nipae.Slug, base string) error {
	if err := w.turn(ctx); err != nil {
		return err
	}
	_, status, err := w.m.RemoveVersion(ctx, slug, base)
	if errors.Is(err, client.ErrTombstone) {
		err = nil
	}
	return w.noted(status, err)
}

// turn waits for the next second if one is full.
func (w *folderMemory) turn(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pace.wrote(ctx, 1)
}

func (w *folderMemory) noted(s client.Status, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
	taken := 0
	for _, p := range s.Published {
		if p.Accepted {
			taken++
		}
	}
	if taken < len(s.Published) || s.Partial || s.Compared && s.Decider == "" {
		w.status = s
	}
	return err
}
