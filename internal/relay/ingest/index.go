package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/nips/kind"
	"engramd/nips/nipae"
)

// replacement is the content of the input. The events are in an unlinked file;
// memory holds 16 bytes for each line and about 160 for each address of an
// author.
type replacement struct {
	file    *os.File
	out     *bufio.Writer
	end     int64
	buf     []byte
	authors map[string]*replaced
	order   []*replaced // in the order of their first lines
	rest    []verifiedLine
	held    string // why no agent may be switched, if so
}

// verifiedLine is the place of an event in the file.
type verifiedLine struct {
	at   int64
	line uint32
	size uint32
}

// replaced is one author, with the lines that are switched in together if there
// are engrams among them.
type replaced struct {
	pub     string
	engrams bool
	held    string
	newest  int64                 // created_at
	heads   map[[32]byte]headLine // by address
	lines   []verifiedLine
}

// headLine is the newest event of an address. It must not reference the event's
// JSON, which would then stay in memory as a whole.
type headLine struct {
	created int64
	id      [32]byte
}

// newer reports whether h supersedes o (NIP-01).
func (h headLine) newer(o headLine) bool {
	return h.created > o.created || h.created == o.created && bytes.Compare(h.id[:], o.id[:]) < 0
}

func (x *replacement) author(pub string) *replaced {
	a := x.authors[pub]
	if a == nil {
		a = &replaced{pub: strings.Clone(pub), heads: map[[32]byte]headLine{}}
		x.authors[a.pub], x.order = a, append(x.order, a)
	}
	return a
}

// refuse notes whose memory the input does not contain completely. A line that
// does not name its author may be anybody's. An expired event is missing from
// no memory.
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

// take adds an event.
func (x *replacement) take(it item) error {
	x.buf = append(wire.AppendEvent(x.buf[:0], it.event), '\n')
	if _, err := x.out.Write(x.buf); err != nil {
		return err
	}
	if it.line > math.MaxUint32 {
		return errors.New("more lines than can be counted")
	}
	l := verifiedLine{line: uint32(it.line), at: x.end, size: uint32(len(x.buf))}
	x.end += int64(l.size)
	switch it.event.Kind {
	case nipae.Kind, nostr.KindRelayListMetadata, nostr.KindDeletion, kind.Vanish:
		return x.author(it.event.PubKey).take(it.event, l)
	default:
		x.rest = append(x.rest, l)
	}
	return nil
}

func (a *replaced) take(ev *nostr.Event, l verifiedLine) error {
	a.lines = append(a.lines, l)
	a.newest = max(a.newest, int64(ev.CreatedAt))
	a.engrams = a.engrams || ev.Kind == nipae.Kind
	if ev.Kind != nipae.Kind && ev.Kind != nostr.KindRelayListMetadata {
		return nil
	}
	is := headLine{created: int64(ev.CreatedAt)}
	if _, err := hex.Decode(is.id[:], []byte(ev.ID)); err != nil {
		return err
	}
	if was, ok := a.heads[address(ev)]; !ok || is.newer(was) {
		a.heads[address(ev)] = is
	}
	return nil
}

// address returns the hash of what an author's versions of one record have in
// common.
func address(ev *nostr.Event) [32]byte {
	if ev.Kind == nostr.KindRelayListMetadata { // there is one for each author, whatever its tags
		return [32]byte{}
	}
	return sha256.Sum256([]byte(ev.Tags.GetD()))
}

// part returns the part of an event among the others of the file: the newest of
// its address is the head.
func (a *replaced) part(ev *nostr.Event) store.Part {
	head := a.heads[address(ev)]
	switch {
	case ev.Kind != nipae.Kind && ev.Kind != nostr.KindRelayListMetadata:
		return store.Deletions
	case hex.EncodeToString(head.id[:]) != ev.ID:
		return store.Versions
	case ev.Kind == nostr.KindRelayListMetadata:
		return store.Relays
	}
	return store.Heads
}

// event reads an event from the file.
func (x *replacement) event(l verifiedLine) (*nostr.Event, error) {
	text := make([]byte, l.size)
	if _, err := x.file.ReadAt(text, l.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return wire.ParseEvent(text[:l.size-1])
}
