package mcp

import (
	"slices"
	"sync"
	"time"

	"engramd/internal/client"
	"engramd/internal/recall"
	"engramd/nips/nipae"
	"engramd/nips/unit"
)

const (
	// maxExternal and maxExternalBytes bound the external memories that a
	// server keeps in mind; the one that was seen first goes.
	maxExternal      = 256
	maxExternalBytes = 2 << 20
)

// externals are the external memories that this process has seen, so that their
// words stay external when they are written again.
type externals struct {
	mu    sync.Mutex
	index *recall.Index
	seen  []seen
	bytes int
}

type seen struct {
	slug string
	size int
}

func newExternals() *externals {
	index, err := recall.New(recall.DefaultLanguage)
	if err != nil {
		panic("the default language of recall is not known: " + err.Error())
	}
	return &externals{index: index}
}

// note keeps a memory in mind if it is external, and forgets it if it no longer
// is.
func (x *externals) note(slug nipae.Slug, text string, written int64) {
	d := unit.Parse(text)
	external := !slug.IsCore() && d.Trust() == unit.External
	x.mu.Lock()
	defer x.mu.Unlock()
	x.forget(string(slug))
	if !external || x.index.Put(recall.Of(string(slug), d, time.Unix(written, 0))) != nil {
		return // a text that the index does not take is longer than any memory
	}
	x.seen = append(x.seen, seen{string(slug), len(text)})
	x.bytes += len(text)
	for len(x.seen) > maxExternal || x.bytes > maxExternalBytes {
		x.forget(x.seen[0].slug)
	}
}

func (x *externals) forget(slug string) {
	at := slices.IndexFunc(x.seen, func(s seen) bool { return s.slug == slug })
	if at < 0 {
		return
	}
	x.bytes -= x.seen[at].size
	x.seen = slices.Delete(x.seen, at, at+1)
	x.index.Remove(slug)
}

func (x *externals) noteAll(entries []client.Entry) {
	for _, e := range entries {
		x.note(e.Slug, e.Text, e.CreatedAt)
	}
}

func (x *externals) copied(text string) (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.index.CopiedFrom(text)
}
