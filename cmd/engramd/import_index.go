package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/store"
	"engramd/internal/wire"
)

// replacement is what the input holds. The events lie in a file that has no name.
type replacement struct {
	file    *os.File
	out     *bufio.Writer
	end     int64
	buf     []byte
	authors map[string]*replaced
	order   []*replaced // as they first came
	rest    []verifiedLine
	held    string // why no agent is switched
}

// verifiedLine is where an event lies in the file.
type verifiedLine struct {
	line, at int64
	size     int
}

// replaced is one author and the lines that are switched in at once if it has
// engrams.
type replaced struct {
	pub     string
	engrams bool
	held    string
	newest  int64 // created_at
	heads   map[headAddress]*headLine
	lines   []verifiedLine
}

type headAddress struct {
	kind int
	d    string
}

type headLine struct {
	created nostr.Timestamp
	id      string
}

func (x *replacement) author(pub string) *replaced {
	a := x.authors[pub]
	if a == nil {
		a = &replaced{pub: pub, heads: map[headAddress]*headLine{}}
		x.authors[pub], x.order = a, append(x.order, a)
	}
	return a
}

// refuse notes whose memory the input does not hold whole. A line that does not say
// whose it is may be anybody's. What expired is missing from no memory.
func (x *replacement) refuse(it item) {
	switch {
	case it.over:
	case it.author == "":
		x.held = cmp.Or(x.held, fmt.Sprintf("line %d may be of any agent", it.line))
	default:
		a := x.author(it.author)
		a.held = cmp.Or(a.held, fmt.Sprintf("line %d is of this agent", it.line))
	}
}

// take notes an event.
func (x *replacement) take(it item) error {
	x.buf = append(wire.AppendEvent(x.buf[:0], it.event), '\n')
	if _, err := x.out.Write(x.buf); err != nil {
		return err
	}
	l := verifiedLine{line: it.line, at: x.end, size: len(x.buf)}
	x.end += int64(l.size)
	switch it.event.Kind {
	case kindEngram, kindRelays, kindDeletion, kindVanish:
		x.author(it.event.PubKey).take(it.event, l)
	default:
		x.rest = append(x.rest, l)
	}
	return nil
}

const kindRelays = 10002

func (a *replaced) take(ev *nostr.Event, l verifiedLine) {
	a.lines = append(a.lines, l)
	a.newest = max(a.newest, int64(ev.CreatedAt))
	a.engrams = a.engrams || ev.Kind == kindEngram
	if ev.Kind != kindEngram && ev.Kind != kindRelays {
		return
	}
	h := a.heads[address(ev)]
	if h == nil {
		h = &headLine{}
		a.heads[address(ev)] = h
	}
	if h.id == "" || ev.CreatedAt > h.created || ev.CreatedAt == h.created && ev.ID < h.id {
		h.created, h.id = ev.CreatedAt, ev.ID
	}
}

func address(ev *nostr.Event) headAddress {
	if ev.Kind == kindRelays { // one for each author, whatever its tags say
		return headAddress{kind: ev.Kind}
	}
	return headAddress{ev.Kind, ev.Tags.GetD()}
}

// part is what an event is among the others of the file: the newest of its address
// is the head.
func (a *replaced) part(ev *nostr.Event) store.Part {
	switch {
	case ev.Kind != kindEngram && ev.Kind != kindRelays:
		return store.Deletions
	case a.heads[address(ev)].id != ev.ID:
		return store.Versions
	case ev.Kind == kindRelays:
		return store.Relays
	}
	return store.Heads
}

// event reads an event back.
func (x *replacement) event(l verifiedLine) (*nostr.Event, error) {
	text := make([]byte, l.size)
	if _, err := x.file.ReadAt(text, l.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return wire.ParseEvent(text[:l.size-1])
}
