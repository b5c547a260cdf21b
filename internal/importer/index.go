package importer

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

	"engramd/internal/store"
	"engramd/internal/wire"
	"engramd/nips/kind"
	"engramd/nips/nipae"
)

// replacement is what the input holds. The events lie in a file that has no
// name; in memory are 16 bytes for each line and about 160 for each address of
// an author.
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
	at   int64
	line uint32
	size uint32
}

// replaced is one author and the lines that are switched in at once if it has
// engrams.
type replaced struct {
	pub     string
	engrams bool
	held    string
	newest  int64                 // created_at
	heads   map[[32]byte]headLine // by address
	lines   []verifiedLine
}

// headLine is the newest event of an address. It holds no part of the event's
// JSON, which would stay in memory as a whole.
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

// refuse notes whose memory the input does not hold whole. A line that does not
// say whose it is may be anybody's. What expired is missing from no memory.
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
	if was, there := a.heads[address(ev)]; !there || is.newer(was) {
		a.heads[address(ev)] = is
	}
	return nil
}

// address is the hash of what an author's versions of one record have in common.
func address(ev *nostr.Event) [32]byte {
	if ev.Kind == nostr.KindRelayListMetadata { // one for each author, whatever its tags say
		return [32]byte{}
	}
	return sha256.Sum256([]byte(ev.Tags.GetD()))
}

// part is what an event is among the others of the file: the newest of its
// address is the head.
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

// event reads an event back.
func (x *replacement) event(l verifiedLine) (*nostr.Event, error) {
	text := make([]byte, l.size)
	if _, err := x.file.ReadAt(text, l.at); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return wire.ParseEvent(text[:l.size-1])
}
