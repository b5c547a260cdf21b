package transplant

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/frontmatter"
	"engramd/nips/kind"
	"engramd/nips/nipae"
)

const (
	// MaxUnits is how many memories a package has at most.
	MaxUnits = 10_000
	// MaxFile bounds a package, in bytes before encryption.
	MaxFile = 256 << 20
	format  = "engramd-transplant-v1"
)

var (
	// ErrPackage is a file that is no package, or was changed.
	ErrPackage = errors.New("not a package of memories")
	// ErrAddressee is a package for somebody else.
	ErrAddressee = errors.New("the package is for another agent")
)

// Package is what one agent gives to another in a file. Nothing in it is checked but
// that the giver signed it for the receiver: each Origin is to be opened.
type Package struct {
	Giver, To string // public keys, hex
	CreatedAt int64  // Unix seconds
	Origins   []Origin
}

// Write writes a package; sign signs an event as the giver. The first line is the
// event that signs it, each other one an origin.
func (p Package) Write(w io.Writer, sign func(*nostr.Event) error) error {
	if len(p.Origins) == 0 || len(p.Origins) > MaxUnits {
		return fmt.Errorf("%w: of 1 to %d memories, not %d", ErrPackage, MaxUnits, len(p.Origins))
	}
	var lines bytes.Buffer
	for _, o := range p.Origins {
		lines.Write(o.JSON())
		lines.WriteByte('\n')
	}
	if lines.Len() > MaxFile-(4<<10) {
		return fmt.Errorf("%w: larger than %d bytes: give less at once", ErrPackage, MaxFile)
	}
	sum := sha256.Sum256(lines.Bytes())
	ev := &nostr.Event{Kind: kind.Statement, PubKey: p.Giver, CreatedAt: nostr.Timestamp(p.CreatedAt), Tags: nostr.Tags{
		{"format", format}, {"p", p.To}, {"n", strconv.Itoa(len(p.Origins))}, {"x", hex.EncodeToString(sum[:])}}}
	if err := sign(ev); err != nil {
		return fmt.Errorf("sign the package: %w", err)
	}
	if _, err := w.Write(append(wire.AppendEvent(nil, ev), '\n')); err != nil {
		return err
	}
	_, err := w.Write(lines.Bytes())
	return err
}

// Read reads a package that is for an agent, and checks that the giver signed all of
// it. Errors are ErrPackage and ErrAddressee.
func Read(r io.Reader, to string) (Package, error) {
	in := bufio.NewScanner(io.LimitReader(r, MaxFile+1))
	in.Buffer(make([]byte, 0, 64<<10), MaxOrigin+1)
	if !in.Scan() {
		return Package{}, fmt.Errorf("%w: it is empty, or its first line is too long", ErrPackage)
	}
	p, sum, count, err := header(in.Bytes())
	if err != nil {
		return Package{}, err
	}
	if p.To != to {
		return Package{}, ErrAddressee
	}
	h := sha256.New()
	for in.Scan() {
		h.Write(in.Bytes())
		h.Write([]byte{'\n'})
		if len(p.Origins) == count {
			return Package{}, fmt.Errorf("%w: it has more than the %d memories that were signed", ErrPackage, count)
		}
		o, err := ParseOrigin(in.Bytes())
		if err != nil {
			return Package{}, fmt.Errorf("%w: memory %d: %w", ErrPackage, len(p.Origins)+1, err)
		}
		p.Origins = append(p.Origins, o)
	}
	switch {
	case in.Err() != nil:
		return Package{}, fmt.Errorf("%w: %w", ErrPackage, in.Err())
	case hex.EncodeToString(h.Sum(nil)) != sum, len(p.Origins) != count:
		return Package{}, fmt.Errorf("%w: it is not what the giver signed", ErrPackage)
	}
	return p, nil
}

// header reads the event that signs a package.
func header(line []byte) (p Package, sum string, count int, err error) {
	wrong := func(what string) error { return fmt.Errorf("%w: %s", ErrPackage, what) }
	ev, err := wire.ParseEvent(line)
	if err != nil {
		return p, "", 0, wrong("its first line is no event")
	}
	if wire.ID(ev) != ev.ID || wire.Verify(ev) != nil {
		return p, "", 0, wrong("its signature is wrong")
	}
	value := func(name string) string {
		if tag := ev.Tags.Find(name); len(tag) == 2 {
			return tag[1]
		}
		return ""
	}
	count, err = strconv.Atoi(value("n"))
	switch {
	case ev.Kind != kind.Statement || value("format") != format || len(ev.Tags) != 4:
		return p, "", 0, wrong("its first line signs something else")
	case err != nil || count < 1 || count > MaxUnits || len(value("x")) != 2*sha256.Size:
		return p, "", 0, wrong("its first line does not say what it signs")
	}
	return Package{Giver: ev.PubKey, To: value("p"), CreatedAt: int64(ev.CreatedAt)}, value("x"), count, nil
}

// Kept is what is to be known of a memory to forget by it.
type Kept struct {
	Slug, ID string
	Text     string
}

// From returns the memories that came from an agent, by transplant or by proposal,
// and those that derive from them by derived_from, directly or not: both by slug.
// What another agent has written and this one passed on came from it too: that lies
// at one of the places (prefixes of slugs) where its memories are kept. What is
// archived already is in neither.
func From(all []Kept, author string, places ...string) (came, derived []string) {
	sources := map[string]bool{Source(author): true, "agent:" + Source(author)[len("transplant:"):]: true}
	from, names := map[string]bool{}, map[string]string{} // of event ids their slugs
	users := map[string][]string{}                        // by what they derive from
	archived := map[string]bool{}
	for _, k := range all {
		d := frontmatter.Parse(k.Text)
		f := d.Fields()
		names[k.ID] = k.Slug
		archived[k.Slug] = f.State == frontmatter.Archived
		from[k.Slug] = sources[f.Source] || given(f.Source) && slices.ContainsFunc(places, func(p string) bool { return strings.HasPrefix(k.Slug, p) })
		for _, target := range targets(d) {
			users[target] = append(users[target], k.Slug)
		}
	}
	for id, slug := range names {
		users[slug] = append(users[slug], users[id]...)
	}
	seen := map[string]bool{}
	var follow func(slugs []string)
	follow = func(slugs []string) {
		for _, slug := range slugs {
			if !seen[slug] {
				seen[slug] = true
				follow(users[slug])
			}
		}
	}
	for slug, is := range from {
		if is {
			follow(users[slug])
		}
	}
	for _, slug := range slices.Sorted(maps.Keys(from)) {
		switch {
		case archived[slug]:
		case from[slug]:
			came = append(came, slug)
		case seen[slug]:
			derived = append(derived, slug)
		}
	}
	return came, derived
}

// given reports whether a source says that a memory is another agent's.
func given(source string) bool {
	return strings.HasPrefix(source, "transplant:") || strings.HasPrefix(source, "agent:")
}

// targets are what a memory derives from: slugs, and ids of events.
func targets(d frontmatter.Doc) (all []string) {
	v, _ := d.Value("derived_from")
	for _, item := range v.Items() {
		name, _, _ := strings.Cut(strings.TrimSpace(item), " ")
		if slug, err := nipae.NormalizeSlug(name); err == nil && !nostr.IsValid32ByteHex(name) {
			name = string(slug)
		}
		all = append(all, name)
	}
	return all
}
