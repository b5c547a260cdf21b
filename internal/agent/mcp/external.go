package mcp

import (
	"slices"
	"strings"
	"sync"
	"time"

	"engramd/internal/client"
	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const (
	// maxExternal and maxExternalBytes bound the external texts that a
	// server keeps in mind; the one that was seen first goes.
	maxExternal      = 1024
	maxExternalBytes = 2 << 20
)

// externals are the external memories that this process has seen, and what it has shown of
// others' words elsewhere, so that they stay external when they are written again.
type externals struct {
	mu    sync.Mutex
	index *recall.Index
	seen  []seen
	bytes int
	names []string // of what was shown, the last ones
}

type seen struct {
	slug, hash, text string
}

func newExternals() *externals {
	return &externals{index: recall.New()}
}

// note keeps a memory in mind if it is external, and forgets it if it no longer
// is.
func (x *externals) note(e client.Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.take(e)
	for len(x.seen) > maxExternal || x.bytes > maxExternalBytes {
		x.forget(x.seen[0].slug)
	}
}

// noteAll is note for a whole listing: those for which there is no room are left
// out, so that a large memory is not indexed again with every question.
func (x *externals) noteAll(entries []client.Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range entries {
		if len(x.seen) < maxExternal && x.bytes+len(e.Text) <= maxExternalBytes || x.at(string(e.Slug)) >= 0 {
			x.take(e)
		}
	}
	for x.bytes > maxExternalBytes { // one of them has grown
		x.forget(x.seen[0].slug)
	}
}

func (x *externals) take(e client.Entry) {
	if at := x.at(string(e.Slug)); at >= 0 && x.seen[at].hash == e.Hash {
		return
	}
	x.forget(string(e.Slug))
	if e.Slug.IsCore() || !strings.HasPrefix(e.Text, "---") {
		return // most texts: nothing is external without front matter
	}
	d := frontmatter.Parse(e.Text)
	if d.Trust() > frontmatter.External || x.index.Put(recall.Of(string(e.Slug), d, time.Unix(e.CreatedAt, 0))) != nil {
		return // a text that the index does not take is longer than any memory
	}
	x.seen = append(x.seen, seen{string(e.Slug), e.Hash, e.Text})
	x.bytes += len(e.Text)
}

// maxNames is how many names of what was shown are kept, and maxName how long one is.
const (
	maxNames = 5
	maxName  = 100
)

// shows notes that somebody else's words came into the context; nil notes nothing.
func (x *externals) shows(name string) {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	name, _ = piece(frontmatter.OneLine(name), 0, maxName)
	x.names = append(slices.DeleteFunc(x.names, func(n string) bool { return n == name }), name)
	x.names = x.names[max(0, len(x.names)-maxNames):]
}

// shown names what was shown of somebody else's words.
func (x *externals) shown() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.names)
}

// read is note for a memory that is shown.
func (x *externals) read(e client.Entry) {
	x.note(e)
	if !e.Slug.IsCore() && frontmatter.Parse(e.Text).Trust() == frontmatter.External {
		x.shows(string(e.Slug))
	}
}

const (
	// maxSaid is how much of a text is kept as one: what others say may be longer than a
	// memory. saidAgain is what two parts have in common.
	maxSaid   = 32 << 10
	saidAgain = 2 << 10
	// leastSaid is the length below which a text has too few words to be copied from.
	leastSaid = 24
)

// said keeps in mind what somebody else says that is no memory, and where; nil keeps
// nothing.
func (x *externals) said(where string, texts ...string) {
	if x == nil {
		return
	}
	text := strings.TrimSpace(strings.ToValidUTF8(strings.Join(texts, "\n\n"), "\uFFFD"))
	if text != "" {
		x.shows(where)
	}
	if len(text) < leastSaid {
		return
	}
	for from, end := 0, 0; end < len(text); from = end - saidAgain {
		var part string
		part, end = piece(text, from, maxSaid)
		x.note(client.Entry{Slug: nipae.Slug(where + "#" + client.Hash(part)), Text: "---\ntrust: external\n---\n" + part})
	}
}

func (x *externals) at(slug string) int {
	return slices.IndexFunc(x.seen, func(s seen) bool { return s.slug == slug })
}

func (x *externals) forget(slug string) {
	at := x.at(slug)
	if at < 0 {
		return
	}
	x.bytes -= len(x.seen[at].text)
	x.seen = slices.Delete(x.seen, at, at+1)
	x.index.Remove(slug)
}

func (x *externals) copied(text string) (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	from, ok := x.index.CopiedFrom(text, func(slug string) (string, bool) {
		if at := x.at(slug); at >= 0 {
			return x.seen[at].text, true
		}
		return "", false
	})
	from, _, _ = strings.Cut(from, "#") // which no slug has
	return from, ok
}
